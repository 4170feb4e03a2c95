// What the end of a replica's call means: whether another may be asked, and whether it speaks against this
// one.
#ifndef TRELLIS_SERVE_GATEWAY_CALL_OUTCOME_H_
#define TRELLIS_SERVE_GATEWAY_CALL_OUTCOME_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "serve/server/request.h"

namespace trellis::gateway {

// Why a request is tried at another replica: what the first one said.
enum class Retry : uint8_t { kUnavailable, kOverloaded, kFailed };
inline constexpr size_t kRetries = 3;

// None: another replica would say the same, or there is no time left. Rows have no effects, so what broke on
// the way, or in an engine, can be computed again.
inline std::optional<Retry> ReasonToRetry(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return Retry::kUnavailable;
    case absl::StatusCode::kResourceExhausted:
      return Retry::kOverloaded;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:         // by the other side: our own are not tried again
    case absl::StatusCode::kUnimplemented:     // whoever is there, it is no server of ours
    case absl::StatusCode::kPermissionDenied:  // so a proxy may say
    case absl::StatusCode::kUnauthenticated:
      return Retry::kFailed;
    default:
      return std::nullopt;
  }
}

enum class Verdict : uint8_t { kGood, kBad, kNone };

// `waited`: since the request was sent there. A deadline that came sooner than a healthy replica may answer
// is the client's doing.
inline Verdict VerdictOf(const absl::Status& status, server::Clock::duration waited) {
  constexpr std::chrono::seconds kTooLong{1};
  if (status.ok() || status.code() == absl::StatusCode::kInvalidArgument) return Verdict::kGood;
  if (status.code() == absl::StatusCode::kDeadlineExceeded)
    return waited >= kTooLong ? Verdict::kBad : Verdict::kNone;
  const std::optional<Retry> reason = ReasonToRetry(status);
  return reason.has_value() && *reason != Retry::kOverloaded ? Verdict::kBad : Verdict::kNone;
}

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_CALL_OUTCOME_H_
