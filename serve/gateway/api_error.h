// What can go wrong with a client's request, each kind once: which status it has, and how each of the two
// dialects of clients spells it. Every route answers errors through here, so that no route has a table of its
// own.
#ifndef TRELLIS_SERVE_GATEWAY_API_ERROR_H_
#define TRELLIS_SERVE_GATEWAY_API_ERROR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "serve/gateway/http_message.h"

namespace trellis::gateway {

enum class Fault : uint8_t {
  kInvalidHttp,
  kInvalidJson,
  kInvalidValue,  // missing, or none of those that there are
  kOutOfRange,    // of the right type, and more or less than the model or the request allows
  kWrongType,
  kEmptyInput,
  kTooLong,
  kTooManyInputs,
  kPayloadTooLarge,
  kHeadersTooLarge,
  kUnsupportedMediaType,
  kUnauthorized,
  kPathNotFound,
  kModelNotFound,
  kMethodNotAllowed,
  kUnsupportedTask,
  kOverloaded,
  kNotReady,
  kDeadline,
  kNonFinite,
  kEngine,
};

struct ApiError {
  Fault fault = Fault::kEngine;
  std::string message;
  std::string param = {};  // the field, for OpenAI's clients; may be empty
};

// Whose clients a route speaks to: {"error":{"message","type","param","code"}} or {"error","error_type"}.
enum class Dialect : uint8_t { kOpenAi, kTei };

int StatusOf(Fault fault, Dialect dialect);
// What clients over gRPC are told; gRPC's codes have the same numbers.
absl::StatusCode CodeOf(Fault fault);
// The label of te_request_failure, as TEI has them.
const char* FailureLabel(Fault fault);
HttpResponse ErrorResponse(const ApiError& error, Dialect dialect);

// What a replica says of a request that this process has checked already.
ApiError FromReplica(const absl::Status& status);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_API_ERROR_H_
