// What of a request's head Beast leaves to its user. Only http_session.h includes this.
#ifndef TRELLIS_SERVE_GATEWAY_HTTP_HEAD_H_
#define TRELLIS_SERVE_GATEWAY_HTTP_HEAD_H_

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <string>
#include <string_view>

namespace trellis::gateway {

using HttpHead = boost::beast::http::request_header<>;

constexpr unsigned kHttp10 = 10;  // as Beast numbers it

// The path of a target: without its query, and without scheme and host, which clients send to a proxy.
inline std::string PathOf(std::string_view target) {
  if (const size_t scheme = target.find("://");
      !target.starts_with('/') && scheme != std::string_view::npos) {
    target.remove_prefix(std::min(target.find_first_of("/?", scheme + 3), target.size()));
    if (!target.starts_with('/')) return "/";
  }
  return std::string(target.substr(0, target.find('?')));
}

// Whether the end of the body is where everybody on the way here sees it (RFC 9112, 6.1 and 6.3). Beast takes
// a message whose coding it does not know for one without a body, and its body for the next request.
inline bool EndsWhereAllSeeIt(const HttpHead& head) {
  const auto codings = head.count(boost::beast::http::field::transfer_encoding);
  if (codings == 0) return true;
  return codings == 1 && head.version() > kHttp10 &&
         boost::beast::iequals(head[boost::beast::http::field::transfer_encoding], "chunked");
}

// HTTP/1.0 does not know the answer 100, and would take it for the one that it waits for.
inline bool WaitsToGoOn(const HttpHead& head) {
  return head.version() > kHttp10 &&
         boost::beast::iequals(head[boost::beast::http::field::expect], "100-continue");
}

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_HTTP_HEAD_H_
