// What a route makes of a request: rows to be computed and how their answer is written, or the answer itself.
// Pure: a route has no thread, no engine and no connection.
#ifndef TRELLIS_SERVE_GATEWAY_ROUTE_PLAN_H_
#define TRELLIS_SERVE_GATEWAY_ROUTE_PLAN_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "serve/engine/engine.h"
#include "serve/gateway/json_body.h"
#include "serve/gateway/result.h"
#include "serve/gateway/row_encoder.h"
#include "serve/gateway/served_model.h"
#include "serve/server/request.h"

namespace trellis::gateway {

// What the rows of a request took, for clients that want to know.
struct RowCosts {
  int64_t characters = 0;
  int64_t tokens = 0;
  std::chrono::nanoseconds total{}, tokenization{}, queue{}, inference{};
};

// One answer a row, in the order of the inputs, none of them failed.
struct ComputedRows {
  std::span<const server::RowReply> replies;
  std::span<const int32_t> cu_seqlens;  // rows + 1
  RowCosts costs = {};

  size_t size() const { return replies.size(); }
  std::span<const float> values(size_t row) const { return replies[row].values; }
  int64_t tokens() const { return cu_seqlens.back(); }
};

struct RowWork {
  std::vector<RowInput> inputs;  // views of the body, or of what `write` keeps
  EncodeRules rules;
  engine::RowTask task;
  std::function<std::string(const ComputedRows&)> write;  // the body of the answer
};

struct Written {
  std::string body;
};

using RoutePlan = std::variant<RowWork, Written>;

struct RouteCall {
  JsonBody& body;  // what it has read, or its error
  const ServedModel& model;
  RowEncoder& encoder;            // of the calling thread
  const std::string& request_id;  // for answers that have an id
};

using RouteFunction = Result<RoutePlan> (*)(const RouteCall& call);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_ROUTE_PLAN_H_
