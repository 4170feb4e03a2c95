#include "serve/gateway/access_log.h"

#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "serve/gateway/json_text.h"

namespace trellis::gateway {
namespace {

int64_t Micros(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

// As it would stand in a JSON string, so that a client cannot write lines of its own.
std::string Quoted(const std::string& text) {
  std::string quoted;
  JsonText(quoted).String(text);
  return quoted;
}

}  // namespace

std::string AccessLine(const RequestRecord& record, LogForm form) {
  if (form == LogForm::kText) {
    std::string line =
        absl::StrCat(record.peer, " ", Quoted(record.method + " " + record.path), " ", record.status, " ",
                     record.response_bytes, " ", Micros(record.total), "us");
    if (record.inputs > 0) absl::StrAppend(&line, " inputs=", record.inputs, " tokens=", record.tokens);
    if (record.fault.has_value()) absl::StrAppend(&line, " failure=", FailureLabel(*record.fault));
    if (!record.trace_id.empty()) absl::StrAppend(&line, " trace=", record.trace_id);
    absl::StrAppend(&line, " ", Quoted(record.request_id), "\n");
    return line;
  }
  std::string line;
  JsonText json(line);
  json.Raw("{\"peer\":").String(record.peer).Raw(",\"method\":").String(record.method);
  json.Raw(",\"path\":").String(record.path).Raw(",\"status\":").Integer(record.status);
  json.Raw(",\"bytes\":").Integer(static_cast<int64_t>(record.response_bytes));
  json.Raw(",\"total_us\":").Integer(Micros(record.total));
  json.Raw(",\"tokenization_us\":").Integer(Micros(record.tokenization));
  json.Raw(",\"queue_us\":").Integer(Micros(record.queue));
  json.Raw(",\"inference_us\":").Integer(Micros(record.inference));
  json.Raw(",\"inputs\":").Integer(static_cast<int64_t>(record.inputs));
  json.Raw(",\"tokens\":").Integer(record.tokens).Raw(",\"failure\":");
  record.fault.has_value() ? json.String(FailureLabel(*record.fault)) : json.Raw("null");
  json.Raw(",\"request_id\":").String(record.request_id);
  json.Raw(",\"trace_id\":");
  record.trace_id.empty() ? json.Raw("null") : json.String(record.trace_id);
  json.Raw("}\n");
  return line;
}

void AccessLog::RequestDone(const RequestRecord& record) {
  const std::string line = AccessLine(record, form_);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of several threads stay whole
}

}  // namespace trellis::gateway
