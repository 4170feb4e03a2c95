#include "bench/serve/load_tally.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace trellis::bench {
namespace {

constexpr const char* kCodes[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

bool WellFormed(const v1::InferRequest& request, const v1::InferReply& reply) {
  const int bounds = reply.value_offsets_size();
  if (bounds != request.cu_seqlens_size() || reply.value_offsets(0) != 0) return false;
  for (int r = 1; r < bounds; ++r) {
    if (reply.value_offsets(r) < reply.value_offsets(r - 1)) return false;
    const bool empty = reply.value_offsets(r) == reply.value_offsets(r - 1);
    const bool failed = std::any_of(reply.failures().begin(), reply.failures().end(),
                                    [&](const v1::RowFailure& failure) { return failure.row() == r - 1; });
    if (empty != failed) return false;
  }
  return reply.values().size() == static_cast<size_t>(reply.value_offsets(bounds - 1)) * 4;
}

// JSON has no NaN.
std::string Number(double value) { return std::isfinite(value) ? absl::StrFormat("%.6g", value) : "null"; }

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

}  // namespace

void LoadTally::Ended(const grpc::Status& status, const v1::InferRequest& request,
                      const v1::InferReply& reply, std::chrono::nanoseconds latency) {
  const std::lock_guard lock(mutex_);
  const size_t code = std::min<size_t>(static_cast<size_t>(status.error_code()), by_code_.size() - 1);
  if (by_code_[code]++ == 0) message_[code] = status.error_message();
  if (!status.ok()) return;
  rows_ += request.cu_seqlens_size() - 1;
  tokens_ += request.input_ids_size();
  row_failures_ += reply.failures_size();
  malformed_ += WellFormed(request, reply) ? 0 : 1;
  latency_ms_.push_back(std::chrono::duration<float, std::milli>(latency).count());
  queue_ms_ += static_cast<double>(reply.timings().queue_ns()) / 1e6;
  forward_ms_ += static_cast<double>(reply.timings().forward_ns()) / 1e6;
  total_ms_ += static_cast<double>(reply.timings().total_ns()) / 1e6;
}

int64_t LoadTally::ended() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(by_code_.begin(), by_code_.end(), int64_t{0});
}

int64_t LoadTally::answered() const {
  const std::lock_guard lock(mutex_);
  return by_code_[0];
}

std::string LoadTally::Json(const std::string& name, double seconds) const {
  const std::lock_guard lock(mutex_);
  std::vector<float> sorted = latency_ms_;
  std::sort(sorted.begin(), sorted.end());
  const auto percentile = [&](double share) {
    return sorted.empty() ? NAN
                          : sorted[std::min(sorted.size() - 1,
                                            static_cast<size_t>(share * static_cast<double>(sorted.size())))];
  };
  const double answered = static_cast<double>(sorted.size());
  std::string codes, messages;
  for (size_t code = 0; code < by_code_.size(); ++code) {
    if (by_code_[code] == 0) continue;
    absl::StrAppend(&codes, codes.empty() ? "" : ", ", Quoted(kCodes[code]), ": ", by_code_[code]);
    if (code != 0)
      absl::StrAppend(&messages, messages.empty() ? "" : ", ", Quoted(kCodes[code]), ": ",
                      Quoted(message_[code]));
  }
  return absl::StrCat(
      "{\"name\": ", Quoted(name), ", \"skipped\": ", skipped_, ", \"codes\": {", codes, "}, \"messages\": {",
      messages, "}, \"malformed\": ", malformed_, ", \"row_failures\": ", row_failures_,
      ", \"requests_per_second\": ", Number(answered / seconds),
      ", \"rows_per_second\": ", Number(static_cast<double>(rows_) / seconds),
      ", \"tokens_per_second\": ", Number(static_cast<double>(tokens_) / seconds),
      ", \"latency_ms\": {\"p50\": ", Number(percentile(0.5)), ", \"p90\": ", Number(percentile(0.9)),
      ", \"p99\": ", Number(percentile(0.99)), ", \"max\": ", Number(percentile(1)),
      "}, \"mean_ms\": {\"queue\": ", Number(queue_ms_ / answered),
      ", \"forward\": ", Number(forward_ms_ / answered), ", \"total\": ", Number(total_ms_ / answered), "}}");
}

}  // namespace trellis::bench
