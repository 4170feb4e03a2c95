// Text-embeddings-inference's own routes for vectors.
#ifndef TRELLIS_SERVE_GATEWAY_TEI_EMBED_H_
#define TRELLIS_SERVE_GATEWAY_TEI_EMBED_H_

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

Result<RoutePlan> PlanTeiEmbed(const RouteCall& call);        // one vector a text
Result<RoutePlan> PlanTeiEmbedAll(const RouteCall& call);     // one a token
Result<RoutePlan> PlanTeiEmbedSparse(const RouteCall& call);  // token weights
Result<RoutePlan> PlanTeiSimilarity(const RouteCall& call);   // one sentence against others

// A vector a token: TEI gives the encoder's as they are; a head for them was trained for unit length.
engine::RowTask TokenVectorsTask(const ServedModel& model);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_TEI_EMBED_H_
