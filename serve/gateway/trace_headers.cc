#include "serve/gateway/trace_headers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trellis::gateway {
namespace {

// version-traceid-parentid-flags: 2, 32, 16 and 2 digits.
constexpr size_t kTraceId = 3, kParentId = 36, kFlags = 53, kLength = 55;
constexpr size_t kStateMembers = 32, kStateBytes = 2048, kKeyBytes = 256, kValueBytes = 256;

// Only lower case is hexadecimal here.
bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

std::string_view Stripped(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool IsKey(std::string_view key) {
  const auto begins = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !key.empty() && key.size() <= kKeyBytes && begins(key[0]) &&
         std::all_of(key.begin(), key.end(), [&](char c) {
           return begins(c) || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
         });
}

bool IsValue(std::string_view value) {
  return !value.empty() && value.size() <= kValueBytes &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

}  // namespace

std::string_view TraceId(std::string_view traceparent) {
  // A later version may go on behind the flags, after another dash.
  const bool first_version = traceparent.starts_with("00");
  if (traceparent.size() < kLength || (first_version && traceparent.size() > kLength)) return {};
  if (traceparent.size() > kLength && traceparent[kLength] != '-') return {};
  for (const size_t dash : {kTraceId - 1, kParentId - 1, kFlags - 1}) {
    if (traceparent[dash] != '-') return {};
  }
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace = traceparent.substr(kTraceId, kParentId - 1 - kTraceId);
  const std::string_view parent = traceparent.substr(kParentId, kFlags - 1 - kParentId);
  if (!IsHex(version) || version == "ff" || !IsHex(traceparent.substr(kFlags, 2))) return {};
  if (!IsHex(trace) || IsZero(trace) || !IsHex(parent) || IsZero(parent)) return {};
  const std::string_view more = traceparent.substr(kLength);
  const bool printable = std::all_of(more.begin(), more.end(), [](char c) { return c > ' ' && c <= '~'; });
  return printable && traceparent.size() <= kStateBytes ? trace : std::string_view();
}

bool IsTraceState(std::string_view tracestate) {
  if (tracestate.size() > kStateBytes) return false;
  size_t members = 0;
  for (size_t at = 0; at <= tracestate.size();) {
    const size_t end = std::min(tracestate.find(',', at), tracestate.size());
    const std::string_view member = Stripped(tracestate.substr(at, end - at));
    at = end + 1;
    if (member.empty()) continue;  // the standard lets a list have those
    const size_t equals = member.find('=');
    if (equals == std::string_view::npos || !IsKey(member.substr(0, equals)) ||
        !IsValue(member.substr(equals + 1))) {
      return false;
    }
    ++members;
  }
  return members > 0 && members <= kStateMembers;
}

std::shared_ptr<const Origin> OriginOf(const std::string& request_id, const std::string& traceparent,
                                       const std::string& tracestate) {
  Origin origin{request_id, {}, {}};
  if (!TraceId(traceparent).empty()) {
    origin.traceparent = traceparent;
    if (IsTraceState(tracestate)) origin.tracestate = tracestate;
  }
  return std::make_shared<const Origin>(std::move(origin));
}

}  // namespace trellis::gateway
