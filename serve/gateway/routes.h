// Every path that is served: with which methods, in whose dialect, by which function. The table is the whole
// API: /openapi.json is written from it too (openapi.h). The files of the page are found beside it.
#ifndef TRELLIS_SERVE_GATEWAY_ROUTES_H_
#define TRELLIS_SERVE_GATEWAY_ROUTES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serve/gateway/api_error.h"
#include "serve/gateway/result.h"
#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// kRoot: health, or to a browser the page; kPageFile: what the page loads.
enum class Page : uint8_t { kNone, kLive, kReady, kMetrics, kModels, kInfo, kOpenApi, kRoot, kPageFile };
enum class Key : uint8_t { kNeeded, kNotNeeded };  // where API keys are set

struct Route {
  const char* path;
  const char* method;  // GET stands for HEAD too
  Dialect dialect;
  Key key;
  Page page;           // of a GET
  RouteFunction plan;  // of a POST
  // Names of openapi_schemas.h: of the body of a POST, and of the answer, where that is JSON.
  const char* request;
  const char* answer;
  const char* what;  // one line, for people
};

std::span<const Route> Routes();

// PathNotFound, or MethodNotAllowed, whose `param` is then the method that is. An unknown path is answered in
// OpenAI's dialect below /v1 and /v2, else in TEI's: DialectOf.
Result<const Route*> FindRoute(std::string_view method, std::string_view path);
Dialect DialectOf(std::string_view path);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_ROUTES_H_
