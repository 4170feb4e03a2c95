// A line on standard error for each answer, for people or as JSON.
#ifndef TRELLIS_SERVE_GATEWAY_ACCESS_LOG_H_
#define TRELLIS_SERVE_GATEWAY_ACCESS_LOG_H_

#include <cstdint>
#include <string>

#include "serve/gateway/request_record.h"

namespace trellis::gateway {

enum class LogForm : uint8_t { kText, kJson };

// Ends in a line feed, and has no other, whatever the client sent.
std::string AccessLine(const RequestRecord& record, LogForm form);

class AccessLog final : public RequestObserver {
 public:
  explicit AccessLog(LogForm form) : form_(form) {}
  void RequestDone(const RequestRecord& record) override;

 private:
  const LogForm form_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_ACCESS_LOG_H_
