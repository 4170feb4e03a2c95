// What is told of a request once it is answered, for metrics and the access log.
#ifndef TRELLIS_SERVE_GATEWAY_REQUEST_RECORD_H_
#define TRELLIS_SERVE_GATEWAY_REQUEST_RECORD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "serve/engine/engine.h"
#include "serve/gateway/api_error.h"

namespace trellis::gateway {

struct RequestRecord {
  enum class Face : uint8_t { kHttp, kGrpc } face = Face::kHttp;
  // Whether it had been told admitted.
  enum class Place : uint8_t { kNone, kHad } place = Place::kNone;
  const char* route = nullptr;  // a path of the table, or a method of gRPC's; null: none of them
  std::string method, path;     // as the client wrote them
  std::string peer, request_id;
  std::string trace_id;  // of a valid traceparent; else empty
  int status = 0;        // HTTP's, or the number of gRPC's code
  std::optional<Fault> fault;  // none: it was served
  enum class Client : uint8_t { kWaited, kGone } client = Client::kWaited;
  std::chrono::nanoseconds total{}, tokenization{}, queue{}, inference{};
  // Of requests for rows that could be read; else 0.
  engine::Task task = engine::Task::kEmbed;
  size_t inputs = 0;
  // Of those whose rows went to the replica; else 0.
  size_t truncated = 0;
  int64_t tokens = 0;
  std::span<const int32_t> cu_seqlens;  // inputs + 1, or empty; good during the call only
  size_t response_bytes = 0;
};

// Any thread; must not block.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // A request that has a place, and is told done later; those that are refused before are told done only.
  virtual void RequestAdmitted() {}
  virtual void RequestDone(const RequestRecord& record) = 0;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REQUEST_RECORD_H_
