// A request and its answer as plain values: what the routes see of HTTP.
#ifndef TRELLIS_SERVE_GATEWAY_HTTP_MESSAGE_H_
#define TRELLIS_SERVE_GATEWAY_HTTP_MESSAGE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trellis::gateway {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query
  std::string content_type;
  std::string authorization;
  std::string request_id;   // x-request-id as it came; may be empty
  std::string traceparent;  // this and tracestate as they came; may be empty
  std::string tracestate;
  std::string origin;         // of a browser's page; may be empty
  std::string accept;         // as it came; may be empty
  std::string if_none_match;  // as it came; may be empty
  std::string peer;           // for the access log
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::shared_ptr<void> hold = {};  // server::Reply::hold of what the body was made from: until it is written
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_HTTP_MESSAGE_H_
