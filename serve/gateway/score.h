// POST /v1/score: how alike texts are, by a reranker's score or by the cosine of their vectors.
#ifndef TRELLIS_SERVE_GATEWAY_SCORE_H_
#define TRELLIS_SERVE_GATEWAY_SCORE_H_

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// text_1 and text_2 (or queries and documents), each a string or a list: one against many, or lists of one
// length, pair by pair.
Result<RoutePlan> PlanScore(const RouteCall& call);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_SCORE_H_
