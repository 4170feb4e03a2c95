// A POST over HTTP as a call: its JSON read, and its answer with what an answer has there.
#include <memory>
#include <optional>
#include <utility>

#include "serve/gateway/compute_headers.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/gateway_call.h"
#include "serve/gateway/json_body.h"
#include "serve/gateway/trace_headers.h"

namespace trellis::gateway {
namespace {

// The rows are views of the body.
struct ReadPost {
  HttpRequest request;
  std::optional<JsonBody> body;
};

}  // namespace

std::shared_ptr<GatewayCall> Gateway::Post(const Route& route, HttpRequest request, Done done) {
  const auto post = std::make_shared<ReadPost>();
  post->request = std::move(request);
  PlannedCall::Asked asked;
  asked.record.route = route.path;
  asked.record.method = post->request.method;
  asked.record.path = post->request.path;
  asked.record.peer = post->request.peer;
  asked.record.request_id = post->request.request_id;
  asked.record.trace_id = TraceId(post->request.traceparent);
  asked.origin = OriginOf(post->request.request_id, post->request.traceparent, post->request.tracestate);
  asked.plan = [post, &route](const ServedModel& model, RowEncoder& encoder) {
    post->body.emplace(post->request.body);
    post->request.body = {};  // the parser has a copy of what it needs
    return route.plan({*post->body, model, encoder, post->request.request_id});
  };
  const auto call = std::make_shared<PlannedCall>(
      *this, std::move(asked),
      [this, post, &route, done = std::move(done)](Result<CallAnswer> answer, RequestRecord record) {
        HttpResponse response;
        if (answer.ok()) {
          response.body = std::move(answer->body);
          response.hold = std::move(answer->hold);
          if (answer->costs.has_value())
            response.headers = ComputeHeaders(*answer->costs, options_.facts.compute_type);
        } else {
          response = ErrorResponse(answer.error(), route.dialect);
        }
        AddCors(post->request, response);
        response.headers.emplace_back("x-request-id", post->request.request_id);
        record.status = response.status;
        record.response_bytes = response.body.size();
        Tell(record);
        done(std::move(response));
      });
  call->Start();
  return call;
}

}  // namespace trellis::gateway
