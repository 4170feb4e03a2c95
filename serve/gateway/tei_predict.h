// POST /predict, as text-embeddings-inference has it: labels of texts or pairs, with scores.
#ifndef TRELLIS_SERVE_GATEWAY_TEI_PREDICT_H_
#define TRELLIS_SERVE_GATEWAY_TEI_PREDICT_H_

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// `inputs` is a text; or [text] or [text, pair]; or a list of such lists.
Result<RoutePlan> PlanTeiPredict(const RouteCall& call);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_TEI_PREDICT_H_
