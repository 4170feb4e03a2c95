// POST /predict, as text-embeddings-inference has it: labels of texts or pairs, with scores.
#ifndef TRELLIS_SERVE_GATEWAY_TEI_PREDICT_H_
#define TRELLIS_SERVE_GATEWAY_TEI_PREDICT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// `inputs` is a text; or [text] or [text, pair]; or a list of such lists.
Result<RoutePlan> PlanTeiPredict(const RouteCall& call);

enum class Scores : uint8_t { kShares, kRaw };  // that add up to 1 (a lone one: its sigmoid), or logits
struct LabelScore {
  std::string label;
  float score;
};
// All labels, best first.
std::vector<LabelScore> LabelScores(std::span<const float> logits, Scores scores,
                                    const std::vector<std::string>& labels);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_TEI_PREDICT_H_
