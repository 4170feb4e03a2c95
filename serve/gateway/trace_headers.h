// The headers of W3C Trace Context (level 2), by which a request is found again in the logs of all that it
// went through. We forward them as they came and add no span of our own; what is not of the standard's form
// is taken as absent.
#ifndef TRELLIS_SERVE_GATEWAY_TRACE_HEADERS_H_
#define TRELLIS_SERVE_GATEWAY_TRACE_HEADERS_H_

#include <memory>
#include <string>
#include <string_view>

#include "serve/gateway/replica.h"

namespace trellis::gateway {

// The 32 hexadecimal digits that name the trace; empty: no valid `traceparent`.
std::string_view TraceId(std::string_view traceparent);

// A list of at most 32 members, and of no more bytes than fit well into the headers of a call.
bool IsTraceState(std::string_view tracestate);

// What a request tells of itself, the parts of it that are of the standard's form.
std::shared_ptr<const Origin> OriginOf(const std::string& request_id, const std::string& traceparent,
                                       const std::string& tracestate);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_TRACE_HEADERS_H_
