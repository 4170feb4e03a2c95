// The name a request has in answers and logs.
#ifndef TRELLIS_SERVE_GATEWAY_REQUEST_ID_H_
#define TRELLIS_SERVE_GATEWAY_REQUEST_ID_H_

#include <string>
#include <string_view>

namespace trellis::gateway {

// The client's, if it is one that can stand in a header and a log line; else a new one.
std::string RequestId(std::string_view from_client);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REQUEST_ID_H_
