// POST /v1/embeddings, as OpenAI's clients speak it.
#ifndef TRELLIS_SERVE_GATEWAY_OPENAI_EMBEDDINGS_H_
#define TRELLIS_SERVE_GATEWAY_OPENAI_EMBEDDINGS_H_

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

Result<RoutePlan> PlanOpenAiEmbeddings(const RouteCall& call);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_OPENAI_EMBEDDINGS_H_
