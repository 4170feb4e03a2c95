// A gateway on a tiny model with its gRPC port on loopback, and clients of it.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_GRPC_TEI_FIXTURE_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_GRPC_TEI_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "serve/gateway/grpc_tei_listener.h"
#include "tei/v1/tei.grpc.pb.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/grpc/loopback.h"

namespace trellis::gateway {

class TinyGrpc {
 public:
  explicit TinyGrpc(const std::string& model, const std::function<void(TestOptions&)>& change = {},
                    const GrpcOptions& options = {})
      : tiny_(model, change) {
    auto listening = GrpcTeiListener::Listen(options, tiny_.gateway());
    if (!listening.ok()) ADD_FAILURE() << listening.status();
    listener_ = *std::move(listening);
    channel_ = server::ChannelTo(listener_->port());
    embed = tei::v1::Embed::NewStub(channel_);
    predict = tei::v1::Predict::NewStub(channel_);
    rerank = tei::v1::Rerank::NewStub(channel_);
    tokenize = tei::v1::Tokenize::NewStub(channel_);
    tell = tei::v1::Info::NewStub(channel_);
    health = grpc::health::v1::Health::NewStub(channel_);
  }
  ~TinyGrpc() { EXPECT_TRUE(gateway().Drain(std::chrono::minutes(1))); }

  TinyGrpc& Open() {
    tiny_.Open();
    return *this;
  }
  TinyGateway& http() { return tiny_; }
  Gateway& gateway() { return tiny_.gateway(); }
  GrpcTeiListener& listener() { return *listener_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // A call with bytes that need not be a message.
  grpc::Status Raw(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel_);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer message(&slice, 1);
    grpc::ByteBuffer answer;
    grpc::ClientContext call;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&call, method, {}, &message, &answer,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }

 private:
  TinyGateway tiny_;
  std::unique_ptr<GrpcTeiListener> listener_;
  std::shared_ptr<grpc::Channel> channel_;

 public:
  std::unique_ptr<tei::v1::Embed::Stub> embed;
  std::unique_ptr<tei::v1::Predict::Stub> predict;
  std::unique_ptr<tei::v1::Rerank::Stub> rerank;
  std::unique_ptr<tei::v1::Tokenize::Stub> tokenize;
  std::unique_ptr<tei::v1::Info::Stub> tell;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

template <typename Answer>
struct Told {
  grpc::Status status;
  Answer answer;
};

// `method` is a stub's: Ask(*tiny.embed, &tei::v1::Embed::Stub::Embed, request).
template <typename Stub, typename Request, typename Answer>
Told<Answer> Ask(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Answer*),
                 const Request& request) {
  grpc::ClientContext call;
  Told<Answer> told;
  told.status = (stub.*method)(&call, request, &told.answer);
  return told;
}

// All messages at once, then all answers.
template <typename Answer, typename Stream, typename Request>
Told<std::vector<Answer>> Converse(Stream stream, const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    if (!stream->Write(request)) break;
  }
  stream->WritesDone();
  Told<std::vector<Answer>> told;
  for (Answer answer; stream->Read(&answer);) told.answer.push_back(answer);
  told.status = stream->Finish();
  return told;
}

template <typename Repeated>
std::vector<float> FloatsOf(const Repeated& values) {
  return {values.begin(), values.end()};
}

inline void ExpectStatus(const grpc::Status& status, grpc::StatusCode code, const std::string& said) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_NE(status.error_message().find(said), std::string::npos) << status.error_message();
}

template <typename Request = tei::v1::EmbedRequest>
Request Of(const std::string& text) {
  Request request;
  request.set_inputs(text);
  return request;
}

inline std::string Repeated(const std::string& word, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += word;
  return text;
}

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_GRPC_TEI_FIXTURE_H_
