// POST /tokenize and /decode: text to tokens and back, without the engine.
#ifndef TRELLIS_SERVE_GATEWAY_TOKENS_H_
#define TRELLIS_SERVE_GATEWAY_TOKENS_H_

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// Offsets are bytes of prompt and text; null for tokens that are not from it.
Result<RoutePlan> PlanTokenize(const RouteCall& call);
Result<RoutePlan> PlanDecode(const RouteCall& call);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_TOKENS_H_
