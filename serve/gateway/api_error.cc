#include "serve/gateway/api_error.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "serve/gateway/json_text.h"

namespace trellis::gateway {
namespace {

struct Row {
  Fault fault;
  int openai_status;
  int tei_status;
  const char* type;   // OpenAI's
  const char* code;   // OpenAI's
  const char* tei;    // error_type
  const char* label;  // te_request_failure{err}
};

constexpr const char* kInvalid = "invalid_request_error";

constexpr Row kRows[] = {
    {Fault::kInvalidHttp, 400, 400, kInvalid, "invalid_http", "Validation", "validation"},
    {Fault::kInvalidJson, 400, 400, kInvalid, "invalid_json", "Validation", "validation"},
    {Fault::kInvalidValue, 400, 400, kInvalid, "invalid_value", "Validation", "validation"},
    {Fault::kOutOfRange, 400, 422, kInvalid, "invalid_value", "Validation", "validation"},
    {Fault::kWrongType, 400, 422, kInvalid, "invalid_type", "Validation", "validation"},
    {Fault::kEmptyInput, 400, 400, kInvalid, "empty_input", "Empty", "validation"},
    {Fault::kTooLong, 400, 422, kInvalid, "context_length_exceeded", "Validation", "tokenization"},
    {Fault::kTooManyInputs, 400, 422, kInvalid, "too_many_inputs", "Validation", "batch_size"},
    {Fault::kPayloadTooLarge, 413, 413, kInvalid, "payload_too_large", "Validation", "validation"},
    {Fault::kHeadersTooLarge, 431, 431, kInvalid, "headers_too_large", "Validation", "validation"},
    {Fault::kUnsupportedMediaType, 415, 415, kInvalid, "unsupported_media_type", "Validation", "validation"},
    {Fault::kUnauthorized, 401, 401, "authentication_error", "invalid_api_key", "Unauthorized", "validation"},
    {Fault::kPathNotFound, 404, 404, "not_found_error", "path_not_found", "Validation", "validation"},
    {Fault::kModelNotFound, 404, 404, "not_found_error", "model_not_found", "Validation", "validation"},
    {Fault::kMethodNotAllowed, 405, 405, kInvalid, "method_not_allowed", "Validation", "validation"},
    {Fault::kUnsupportedTask, 400, 424, kInvalid, "unsupported_task", "Backend", "model_type"},
    {Fault::kOverloaded, 429, 429, "rate_limit_error", "overloaded", "Overloaded", "overloaded"},
    {Fault::kNotReady, 503, 503, "unavailable_error", "not_ready", "Unhealthy", "dropped"},
    {Fault::kDeadline, 504, 504, "timeout_error", "timeout", "Backend", "dropped"},
    {Fault::kNonFinite, 500, 424, "server_error", "non_finite_output", "Backend", "missing_values"},
    {Fault::kEngine, 500, 424, "server_error", "engine_error", "Backend", "inference"},
};
constexpr size_t kFaults = static_cast<size_t>(Fault::kEngine) + 1;
static_assert(std::size(kRows) == kFaults);

constexpr bool InOrder() {
  for (size_t i = 0; i < kFaults; ++i) {
    if (static_cast<size_t>(kRows[i].fault) != i) return false;
  }
  return true;
}
static_assert(InOrder(), "a row is found by its fault's number");

const Row& RowOf(Fault fault) { return kRows[static_cast<size_t>(fault)]; }

}  // namespace

int StatusOf(Fault fault, Dialect dialect) {
  return dialect == Dialect::kOpenAi ? RowOf(fault).openai_status : RowOf(fault).tei_status;
}

absl::StatusCode CodeOf(Fault fault) {
  switch (fault) {
    case Fault::kInvalidHttp:
    case Fault::kInvalidJson:
    case Fault::kInvalidValue:
    case Fault::kOutOfRange:
    case Fault::kWrongType:
    case Fault::kEmptyInput:
    case Fault::kTooLong:
    case Fault::kTooManyInputs:
    case Fault::kUnsupportedMediaType:
      return absl::StatusCode::kInvalidArgument;
    case Fault::kPayloadTooLarge:
    case Fault::kHeadersTooLarge:
    case Fault::kOverloaded:
      return absl::StatusCode::kResourceExhausted;
    case Fault::kUnauthorized:
      return absl::StatusCode::kUnauthenticated;
    case Fault::kPathNotFound:
    case Fault::kModelNotFound:
      return absl::StatusCode::kNotFound;
    case Fault::kMethodNotAllowed:
      return absl::StatusCode::kUnimplemented;
    case Fault::kUnsupportedTask:
      return absl::StatusCode::kFailedPrecondition;
    case Fault::kNotReady:
      return absl::StatusCode::kUnavailable;
    case Fault::kDeadline:
      return absl::StatusCode::kDeadlineExceeded;
    case Fault::kNonFinite:
    case Fault::kEngine:
      return absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInternal;
}

const char* FailureLabel(Fault fault) { return RowOf(fault).label; }

HttpResponse ErrorResponse(const ApiError& error, Dialect dialect) {
  const Row& row = RowOf(error.fault);
  HttpResponse response;
  response.status = StatusOf(error.fault, dialect);
  JsonText json(response.body);
  if (dialect == Dialect::kTei) {
    json.Raw("{\"error\":").String(error.message).Raw(",\"error_type\":").String(row.tei).Raw("}");
  } else {
    json.Raw("{\"error\":{\"message\":").String(error.message).Raw(",\"type\":").String(row.type);
    json.Raw(",\"param\":");
    error.param.empty() ? json.Raw("null") : json.String(error.param);
    json.Raw(",\"code\":").String(row.code).Raw("}}");
  }
  // Clients that retry wait for so long; the queue is some batches long, a start some seconds.
  if (response.status == 429) response.headers.emplace_back("Retry-After", "1");
  if (response.status == 503) response.headers.emplace_back("Retry-After", "2");
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiError FromReplica(const absl::Status& status) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return {Fault::kOutOfRange, message};
    case absl::StatusCode::kFailedPrecondition:
      return {Fault::kUnsupportedTask, message};
    case absl::StatusCode::kResourceExhausted:
      return {Fault::kOverloaded, message};
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
      return {Fault::kNotReady, message};
    case absl::StatusCode::kDeadlineExceeded:
      return {Fault::kDeadline, message};
    case absl::StatusCode::kDataLoss:
      return {Fault::kNonFinite, message};
    default:
      return {Fault::kEngine, message};
  }
}

}  // namespace trellis::gateway
