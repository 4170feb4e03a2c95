// What is told of a request once it is answered, for metrics and the access log.
#ifndef TRELLIS_SERVE_GATEWAY_REQUEST_RECORD_H_
#define TRELLIS_SERVE_GATEWAY_REQUEST_RECORD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "serve/engine/engine.h"

namespace trellis::gateway {

struct RequestRecord {
  const char* route = nullptr;  // a path of the table; null: none of them
  std::string method, path;     // as the client wrote them
  std::string peer, request_id, traceparent;
  int status = 0;
  const char* failure = nullptr;  // FailureLabel; null: it was served
  std::chrono::nanoseconds total{}, tokenization{}, queue{}, inference{};
  // Of requests whose rows went to the replica; else 0.
  engine::Task task = engine::Task::kEmbed;
  size_t inputs = 0;
  size_t truncated = 0;
  int64_t tokens = 0;
  size_t response_bytes = 0;
};

// Any thread; must not block.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void RequestDone(const RequestRecord& record) = 0;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REQUEST_RECORD_H_
