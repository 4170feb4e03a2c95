// The description of all routes for people and generators of clients: GET /openapi.json.
#ifndef TRELLIS_SERVE_GATEWAY_OPENAPI_H_
#define TRELLIS_SERVE_GATEWAY_OPENAPI_H_

#include <string>
#include <string_view>

namespace trellis::gateway {

// OpenAPI 3.1, from the table of routes and openapi_schemas.h.
std::string WriteOpenApi(std::string_view version);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_OPENAPI_H_
