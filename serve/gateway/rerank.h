// Documents in order of what they have to do with a query, in the dialects that clients have.
#ifndef TRELLIS_SERVE_GATEWAY_RERANK_H_
#define TRELLIS_SERVE_GATEWAY_RERANK_H_

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// /rerank: with `texts` text-embeddings-inference's array, with `documents` as /v1/rerank.
Result<RoutePlan> PlanRerank(const RouteCall& call);
// Cohere's v1 and Jina's object, documents in it when return_documents says so.
Result<RoutePlan> PlanRerankV1(const RouteCall& call);
// Cohere's v2: never with documents.
Result<RoutePlan> PlanRerankV2(const RouteCall& call);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_RERANK_H_
