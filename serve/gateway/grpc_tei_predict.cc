// tei.v1.Predict and tei.v1.Rerank: scores of texts and of pairs.
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/gateway/grpc_tei_message.h"
#include "serve/gateway/grpc_tei_methods.h"
#include "serve/gateway/json_body.h"
#include "serve/gateway/request_fields.h"
#include "serve/gateway/tei_predict.h"
#include "serve/gateway/vectors.h"

namespace trellis::gateway {
namespace {

template <typename Request>
Result<RoutePlan> PlanScores(const std::shared_ptr<const Request>& request, RowInput input,
                             const ServedModel& model) {
  RowWork work;
  work.inputs.push_back(std::move(input));
  work.rules = PlainRules(model, "inputs");
  if (auto wrong = SetCut(*request, work.rules)) return *std::move(wrong);
  work.task = {.task = engine::Task::kClassify};
  work.write = [kept = request, &labels = model.folder.labels](const ComputedRows& rows) {
    tei::v1::PredictResponse answer;
    for (const LabelScore& label :
         LabelScores(rows.values(0), kept->raw_scores() ? Scores::kRaw : Scores::kShares, labels)) {
      tei::v1::Prediction& prediction = *answer.add_predictions();
      prediction.set_score(label.score);
      prediction.set_label(label.label);
    }
    return AnswerBytes(answer, rows.costs);
  };
  return RoutePlan(std::move(work));
}

}  // namespace

Result<RoutePlan> PlanGrpcPredict(const grpc::ByteBuffer& message, const ServedModel& model, RowEncoder&) {
  const auto request = ReadMessage<tei::v1::PredictRequest>(message);
  if (!request.ok()) return request.error();
  if (!model.Does(engine::Task::kClassify)) return Unsupported(model, "classifies texts");
  if (auto wrong = CheckText((*request)->inputs(), "inputs")) return *std::move(wrong);
  return PlanScores(*request, std::string_view((*request)->inputs()), model);
}

Result<RoutePlan> PlanGrpcPredictPair(const grpc::ByteBuffer& message, const ServedModel& model,
                                      RowEncoder&) {
  const auto request = ReadMessage<tei::v1::PredictPairRequest>(message);
  if (!request.ok()) return request.error();
  if (!model.Does(engine::Task::kClassify)) return Unsupported(model, "classifies texts");
  const auto& texts = (*request)->inputs();
  if (texts.size() == 2) return PlanScores(*request, TextPair{texts[0], texts[1]}, model);
  if (texts.size() != 1) {
    return WrongField(texts.empty() ? Fault::kEmptyInput : Fault::kOutOfRange, "inputs",
                      absl::StrCat(texts.size(), " texts, expected one or two"));
  }
  if (auto wrong = CheckText(texts[0], Place("inputs", 0))) return *std::move(wrong);
  return PlanScores(*request, std::string_view(texts[0]), model);
}

Result<RoutePlan> PlanGrpcRerank(const grpc::ByteBuffer& message, const ServedModel& model, RowEncoder&) {
  const auto request = ReadMessage<tei::v1::RerankRequest>(message);
  if (!request.ok()) return request.error();
  if (!model.Reranks()) return Unsupported(model, "scores pairs of texts");
  const auto& texts = (*request)->texts();
  if (texts.empty())
    return WrongField(Fault::kEmptyInput, "texts", "an empty list, expected at least one text");
  if (static_cast<size_t>(texts.size()) > model.policy.max_client_batch) {
    return WrongField(
        Fault::kTooManyInputs, "texts",
        absl::StrCat(texts.size(), " inputs, expected at most ", model.policy.max_client_batch));
  }
  RowWork work;
  for (const std::string& text : texts) work.inputs.emplace_back(TextPair{(*request)->query(), text});
  work.rules = PlainRules(model, "texts");
  if (auto wrong = SetCut(**request, work.rules)) return *std::move(wrong);
  work.task = {.task = engine::Task::kClassify};
  work.write = [kept = *request](const ComputedRows& rows) {
    RankedTexts ranked;
    ranked.ranks.resize(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      ranked.ranks[r].set_score(rows.values(r)[0]);
      if (kept->return_text()) ranked.ranks[r].set_text(kept->texts(static_cast<int>(r)));
    }
    ranked.costs = rows.costs;
    if (kept->raw_scores()) ranked.scores = RankedTexts::Scores::kRaw;
    if (kept->return_text()) ranked.texts = RankedTexts::Texts::kReturned;
    return WriteRanks(std::move(ranked)).SerializeAsString();
  };
  return RoutePlan(std::move(work));
}

Result<RoutePlan> PlanGrpcRankText(const grpc::ByteBuffer& message, const ServedModel& model, RowEncoder&) {
  const auto request = ReadMessage<tei::v1::RerankStreamRequest>(message);
  if (!request.ok()) return request.error();
  if (!model.Reranks()) return Unsupported(model, "scores pairs of texts");
  RowWork work;
  work.inputs.emplace_back(TextPair{(*request)->query(), (*request)->text()});
  work.rules = PlainRules(model, "text");
  if (auto wrong = SetCut(**request, work.rules)) return *std::move(wrong);
  work.task = {.task = engine::Task::kClassify};
  work.write = [kept = *request](const ComputedRows& rows) {
    tei::v1::Rank rank;
    rank.set_score(rows.values(0)[0]);
    rank.set_text(kept->text());
    return rank.SerializeAsString();
  };
  return RoutePlan(std::move(work));
}

tei::v1::RerankResponse WriteRanks(RankedTexts ranked) {
  std::vector<float> logits;
  for (const tei::v1::Rank& rank : ranked.ranks) logits.push_back(rank.score());
  tei::v1::RerankResponse answer;
  for (const size_t place : Descending(logits)) {
    tei::v1::Rank& rank = *answer.add_ranks();
    rank = std::move(ranked.ranks[place]);
    rank.set_index(static_cast<uint32_t>(place));
    if (ranked.scores == RankedTexts::Scores::kSigmoid) rank.set_score(Sigmoid(logits[place]));
    if (ranked.texts == RankedTexts::Texts::kLeftOut) rank.clear_text();
  }
  WriteCosts(ranked.costs, *answer.mutable_metadata());
  return answer;
}

}  // namespace trellis::gateway
