#include "serve/gateway/gateway.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "serve/gateway/model_pages.h"
#include "serve/gateway/openapi.h"
#include "serve/gateway/page_files.h"
#include "serve/gateway/request_id.h"
#include "serve/gateway/trace_headers.h"

namespace trellis::gateway {
namespace {

// Absent is taken for JSON: there is nothing else that a body here can be.
bool IsJson(const std::string& content_type) {
  const std::string media(absl::StripAsciiWhitespace(
      absl::string_view(content_type).substr(0, std::min(content_type.find(';'), content_type.size()))));
  return media.empty() || absl::EqualsIgnoreCase(media, "application/json") ||
         absl::EndsWithIgnoreCase(media, "+json");
}

RequestRecord RecordOf(const HttpRequest& head, const std::string& id) {
  RequestRecord record;
  record.method = head.method;
  record.path = head.path;
  record.peer = head.peer;
  record.request_id = id;
  record.trace_id = TraceId(head.traceparent);
  for (const Route& route : Routes()) {
    if (head.path == route.path) record.route = route.path;
  }
  if (FindPageFile(head.path) != nullptr) record.route = "/";
  return record;
}

}  // namespace

Gateway::Gateway(const model::ModelFolder& folder, Replica& replica, WorkerPool& pool,
                 std::vector<RequestObserver*> observers, std::function<std::string()> metrics_text,
                 const GatewayOptions& options)
    : folder_(folder),
      replica_(replica),
      pool_(pool),
      observers_(std::move(observers)),
      metrics_text_(std::move(metrics_text)),
      options_(options),
      keys_(options.api_keys),
      slots_(options.max_concurrent_requests) {}

bool Gateway::ready() const {
  return !slots_.closed() && replica_.health() == server::Health::kReady && replica_.model() != nullptr;
}

ServedModel Gateway::Model(const ReplicaModel& replica_model) const {
  return {folder_,        replica_model.limits, options_.policy,
          options_.facts, options_.names,       replica_model.max_batch_tokens};
}

void Gateway::Tell(const RequestRecord& record) const {
  for (RequestObserver* observer : observers_) observer->RequestDone(record);
}

void Gateway::TellAdmitted() const {
  for (RequestObserver* observer : observers_) observer->RequestAdmitted();
}

void Gateway::AddCors(const HttpRequest& request, HttpResponse& response) const {
  if (options_.cors_allow_origin.empty() || request.origin.empty()) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", options_.cors_allow_origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", "x-request-id");
  if (request.method != "OPTIONS") return;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
  response.headers.emplace_back("Access-Control-Allow-Headers", "authorization, content-type, x-request-id, *");
  response.headers.emplace_back("Access-Control-Max-Age", "86400");
}

std::optional<ServedModel> Gateway::model() const {
  const ReplicaModel* replica_model = replica_.model();
  return replica_model == nullptr ? std::nullopt : std::optional<ServedModel>(Model(*replica_model));
}

std::optional<ApiError> Gateway::CheckKey(const std::string& authorization) const {
  if (keys_.Admit(authorization)) return std::nullopt;
  return ApiError{Fault::kUnauthorized, authorization.empty()
                                            ? "no API key, expected the header `Authorization: Bearer KEY`"
                                            : "the API key is none that is known here"};
}

std::optional<ApiError> Gateway::CheckReady() const {
  if (ready()) return std::nullopt;
  if (slots_.closed()) return NoPlace(RequestSlots::Taken::kClosed);
  return ApiError{Fault::kNotReady, replica_.health() == server::Health::kStarting
                                        ? "the model is being loaded"
                                        : "the engine is not available"};
}

ApiError Gateway::NoPlace(RequestSlots::Taken taken) const {
  if (taken == RequestSlots::Taken::kClosed) return {Fault::kNotReady, "the server is shutting down"};
  return {Fault::kOverloaded, absl::StrCat("all ", options_.max_concurrent_requests,
                                           " places for requests are taken, try again")};
}

std::optional<ApiError> Gateway::Admit(const HttpRequest& request, const Route& route) const {
  if (route.key == Key::kNeeded) {
    if (auto wrong = CheckKey(request.authorization)) return wrong;
  }
  if (route.plan != nullptr && !IsJson(request.content_type)) {
    return ApiError{
        Fault::kUnsupportedMediaType,
        absl::StrCat("content-type ", request.content_type.substr(0, 100), ", expected application/json")};
  }
  const bool needs_model = route.plan != nullptr || route.page == Page::kModels ||
                           route.page == Page::kInfo || route.page == Page::kReady ||
                           (route.page == Page::kRoot && !WantsPage(request));
  return needs_model ? CheckReady() : std::nullopt;
}

HttpResponse Gateway::Answer(const HttpRequest& request, const Route& route) {
  if (route.page == Page::kPageFile || (route.page == Page::kRoot && WantsPage(request)))
    return AnswerPageFile(*FindPageFile(request.path), request);
  HttpResponse response;
  switch (route.page) {
    case Page::kNone:
    case Page::kPageFile:
      break;
    case Page::kRoot:
      response.headers.emplace_back("Vary", "Accept");
      [[fallthrough]];
    case Page::kLive:
    case Page::kReady:
      response.body = "{\"status\":\"ok\"}";
      break;
    case Page::kMetrics:
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = metrics_text_();
      break;
    case Page::kModels:
      response.body = WriteModels(Model(*replica_.model()));
      break;
    case Page::kInfo:
      response.body = WriteInfo(Model(*replica_.model()));
      break;
    case Page::kOpenApi:
      response.body = WriteOpenApi(options_.facts.version);
      break;
  }
  return response;
}

std::optional<ApiError> Gateway::CheckHead(const HttpRequest& head) const {
  const Result<const Route*> route = FindRoute(head.method, head.path);
  if (!route.ok()) return route.error();
  return Admit(head, **route);
}

HttpResponse Gateway::Refusal(const HttpRequest& head, const ApiError& error) {
  const bool method = error.fault == Fault::kMethodNotAllowed;  // its param is for the header, not the body
  HttpResponse response =
      ErrorResponse(method ? ApiError{error.fault, error.message} : error, DialectOf(head.path));
  if (method) response.headers.emplace_back("Allow", error.param);
  AddCors(head, response);
  const std::string id = RequestId(head.request_id);
  response.headers.emplace_back("x-request-id", id);
  RequestRecord record = RecordOf(head, id);
  record.status = response.status;
  record.fault = error.fault;
  record.response_bytes = response.body.size();
  Tell(record);
  return response;
}

std::shared_ptr<GatewayCall> Gateway::Serve(HttpRequest request, Done done) {
  request.request_id = RequestId(request.request_id);
  if (request.method == "OPTIONS" && !options_.cors_allow_origin.empty() && !request.origin.empty()) {
    HttpResponse response;
    response.status = 204;
    response.content_type.clear();
    AddCors(request, response);
    RequestRecord record = RecordOf(request, request.request_id);
    record.status = response.status;
    Tell(record);
    done(std::move(response));
    return nullptr;
  }
  const Result<const Route*> route = FindRoute(request.method, request.path);
  if (!route.ok()) {
    done(Refusal(request, route.error()));
    return nullptr;
  }
  if (const auto refused = Admit(request, **route)) {
    done(Refusal(request, *refused));
    return nullptr;
  }
  if ((*route)->plan == nullptr) {
    const server::Clock::time_point arrived = server::Clock::now();
    HttpResponse response = Answer(request, **route);
    AddCors(request, response);
    response.headers.emplace_back("x-request-id", request.request_id);
    RequestRecord record = RecordOf(request, request.request_id);
    record.status = response.status;
    record.response_bytes = response.body.size();
    record.total = server::Clock::now() - arrived;
    Tell(record);
    done(std::move(response));
    return nullptr;
  }
  if (const RequestSlots::Taken taken = slots_.Take(); taken != RequestSlots::Taken::kYes) {
    done(Refusal(request, NoPlace(taken)));
    return nullptr;
  }
  return Post(**route, std::move(request), std::move(done));
}

}  // namespace trellis::gateway
