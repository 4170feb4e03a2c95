// One connection: read a request, have it answered, write the answer, and again. Only http_listener.cc
// includes this.
#ifndef TRELLIS_SERVE_GATEWAY_HTTP_SESSION_H_
#define TRELLIS_SERVE_GATEWAY_HTTP_SESSION_H_

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "serve/gateway/gateway.h"
#include "serve/gateway/http_head.h"
#include "serve/gateway/http_listener.h"

namespace trellis::gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

using PlainStream = beast::basic_stream<asio::generic::stream_protocol>;
using TlsStream = asio::ssl::stream<PlainStream>;

// What all connections of a listener share.
struct HttpShared {
  HttpOptions options;
  Gateway& gateway;
  std::atomic<bool> ending{false};
  RequestSlots answering{static_cast<size_t>(-1)};  // connections that owe an answer
  // Answers that the gateway has a session for. Its thread may be through with one after its client is: until
  // then the sockets' services, which sessions end in, must be there.
  std::shared_ptr<RequestSlots> away = std::make_shared<RequestSlots>(static_cast<size_t>(-1));
};

template <typename Stream>
class HttpSession : public std::enable_shared_from_this<HttpSession<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  HttpSession(Stream stream, HttpShared& shared, std::string peer)
      : stream_(std::move(stream)), shared_(shared), peer_(std::move(peer)) {}
  ~HttpSession() { NoLongerAnswering(); }

  void Run() {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] {
      if constexpr (kTls) {
        self->Expire(self->shared_.options.transfer_timeout);
        self->stream_.async_handshake(asio::ssl::stream_base::server, [self](error_code failed) {
          if (!failed) self->ReadHead();
        });
      } else {
        self->ReadHead();
      }
    });
  }

 private:
  using Parser = http::request_parser<http::string_body>;
  enum class After : uint8_t { kNextRequest, kClose, kDrainAndClose };
  // Of all headers together.
  static constexpr uint32_t kHeaderBytes = 16 << 10;
  static constexpr std::chrono::seconds kDrainTime{2};
  static constexpr uint64_t kReadAnyway = 64 << 10;

  auto& socket() { return beast::get_lowest_layer(stream_).socket(); }
  void Expire(std::chrono::seconds limit) { beast::get_lowest_layer(stream_).expires_after(limit); }

  void ReadHead() {
    parser_.emplace();
    parser_->header_limit(kHeaderBytes);
    parser_->body_limit(shared_.options.payload_limit);
    Expire(shared_.options.idle_timeout);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](error_code failed, size_t) {
                              failed ? self->ReadFailed(failed) : self->HeadIsRead();
                            });
  }

  void HeadIsRead() {
    Expire(shared_.options.transfer_timeout);
    if (!EndsWhereAllSeeIt(parser_->get())) {
      return Refuse(
          {Fault::kInvalidHttp, "no HTTP request: Transfer-Encoding is not understood, expected chunked"});
    }
    // Nobody without a key makes us keep a large body. A small one is read, so that the connection may stay.
    const uint64_t length = parser_->content_length().value_or(0);
    if (parser_->chunked() || length > kReadAnyway) {
      if (const auto refused = shared_.gateway.CheckHead(Head())) return Refuse(*refused);
    }
    if (!WaitsToGoOn(parser_->get())) return ReadBody();
    auto go_on = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
    http::async_write(stream_, *go_on, [self = this->shared_from_this(), go_on](error_code failed, size_t) {
      if (!failed) self->ReadBody();
    });
  }

  void ReadBody() {
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](error_code failed, size_t) {
                       failed ? self->ReadFailed(failed) : self->Serve();
                     });
  }

  // Either what the client sent is wrong, and it is told so; or it is gone.
  void ReadFailed(error_code failed) {
    if (failed == http::error::end_of_stream) return Close();
    if (failed == beast::error::timeout ||
        failed.category() != http::make_error_code(http::error::bad_method).category() ||
        failed == http::error::partial_message) {
      return;
    }
    ApiError error{Fault::kInvalidHttp, "no HTTP request: " + failed.message()};
    if (failed == http::error::header_limit)
      error = {Fault::kHeadersTooLarge,
               "more than " + std::to_string(kHeaderBytes) + " bytes of headers, expected fewer"};
    if (failed == http::error::body_limit)
      error = {Fault::kPayloadTooLarge, "the body is longer than the " +
                                            std::to_string(shared_.options.payload_limit) +
                                            " bytes that are allowed"};
    Refuse(error);
  }

  // What follows on this connection is not looked at.
  void Refuse(const ApiError& error) {
    Answering();
    Write(shared_.gateway.Refusal(Head(), error), After::kDrainAndClose);
  }

  // A header that came in several lines is one list.
  std::string Joined(std::string_view name) const {
    std::string joined;
    const auto [begin, end] = parser_->get().equal_range(name);
    for (auto line = begin; line != end; ++line)
      joined.append(joined.empty() ? "" : ",").append(line->value().data(), line->value().size());
    return joined;
  }

  HttpRequest Head() const {
    const auto& message = parser_->get();
    const auto field = [&](auto name) { return std::string(message[name]); };
    HttpRequest head;
    head.method = std::string(message.method_string());
    head.path = PathOf({message.target().data(), message.target().size()});
    head.content_type = field(http::field::content_type);
    head.authorization = field(http::field::authorization);
    head.origin = field(http::field::origin);
    head.accept = Joined("accept");
    head.if_none_match = Joined("if-none-match");
    head.request_id = field("x-request-id");
    head.traceparent = Joined("traceparent");
    head.tracestate = Joined("tracestate");
    head.peer = peer_;
    return head;
  }

  void Serve() {
    Answering();
    HttpRequest request = Head();
    request.body = std::move(parser_->get().body());
    beast::get_lowest_layer(stream_).expires_never();  // the gateway has a limit of its own
    const uint64_t turn = ++turn_;
    call_ = shared_.gateway.Serve(
        std::move(request), [away = std::make_shared<Away>(this->shared_from_this())](HttpResponse response) {
          HttpSession& session = away->session();
          asio::post(session.stream_.get_executor(),
                     [self = session.shared_from_this(), response = std::move(response)]() mutable {
                       self->call_ = nullptr;
                       error_code ignored;
                       self->socket().cancel(ignored);  // the watch
                       self->Write(std::move(response), After::kNextRequest);
                     });
          away->End();  // whatever still keeps this function
        });
    if (call_ != nullptr) WatchPeer(turn);
  }

  // A session in the gateway's hands, counted until nothing of it is left there.
  class Away {
   public:
    explicit Away(std::shared_ptr<HttpSession> session) : session_(std::move(session)), slots_(session_->shared_.away) {
      (void)slots_->Take();  // never full
    }
    ~Away() { End(); }
    HttpSession& session() { return *session_; }
    void End() {
      if (session_ == nullptr) return;
      session_.reset();  // may be the last to hold it
      slots_->Release();
    }

   private:
    std::shared_ptr<HttpSession> session_;
    const std::shared_ptr<RequestSlots> slots_;
  };

  // A socket that becomes readable while an answer is being worked on was closed, or has the next request.
  void WatchPeer(uint64_t turn) {
    socket().async_wait(
        asio::socket_base::wait_read, [self = this->shared_from_this(), turn](error_code failed) {
          if (failed || self->turn_ != turn || self->call_ == nullptr) return;
          char next = 0;
          const ssize_t seen = recv(self->socket().native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
          if (seen == 0 || (seen < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) self->call_->Cancel();
        });
  }

  void Write(HttpResponse response, After after) {
    const auto& request = parser_->get();
    auto message = std::make_shared<http::response<http::string_body>>();
    message->result(static_cast<unsigned>(response.status));
    message->version(11);
    if (!response.content_type.empty()) message->set(http::field::content_type, response.content_type);
    for (const auto& [name, value] : response.headers) message->insert(name, value);
    if (shared_.ending.load() || (after == After::kNextRequest && !request.keep_alive()))
      after = After::kClose;
    message->keep_alive(after == After::kNextRequest);
    // Elsewhere staying goes without saying.
    if (request.version() == kHttp10 && after == After::kNextRequest)
      message->set(http::field::connection, "keep-alive");
    // These never have a body, and a length of 0 would be said of what they stand for.
    if (response.status != 204 && response.status != 304) message->content_length(response.body.size());
    if (request.method() != http::verb::head) message->body() = std::move(response.body);
    Expire(shared_.options.transfer_timeout);
    http::async_write(stream_, *message,
                      [self = this->shared_from_this(), message, after, hold = std::move(response.hold)](
                          error_code failed, size_t) {
                        self->NoLongerAnswering();
                        if (failed) return;
                        if (after == After::kNextRequest) return self->ReadHead();
                        after == After::kClose ? self->Close() : self->Drain();
                      });
  }

  void Close() {
    if constexpr (kTls) {
      Expire(kDrainTime);
      stream_.async_shutdown([self = this->shared_from_this()](error_code) {});
    } else {
      error_code ignored;
      socket().shutdown(asio::socket_base::shutdown_send, ignored);
    }
  }

  // Closed with bytes unread, a socket resets the connection, and the client never reads why.
  void Drain() {
    if constexpr (!kTls) {
      error_code ignored;
      socket().shutdown(asio::socket_base::shutdown_send, ignored);
    }
    Expire(kDrainTime);
    ReadAndForget();
  }
  void ReadAndForget() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(size_t{64} << 10),
                            [self = this->shared_from_this()](error_code failed, size_t) {
                              if (!failed) self->ReadAndForget();
                            });
  }

  void Answering() { answering_ = shared_.answering.Take() == RequestSlots::Taken::kYes; }
  void NoLongerAnswering() {
    if (std::exchange(answering_, false)) shared_.answering.Release();
  }

  Stream stream_;
  HttpShared& shared_;
  const std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<GatewayCall> call_;
  uint64_t turn_ = 0;
  bool answering_ = false;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_HTTP_SESSION_H_
