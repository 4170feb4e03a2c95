#include "serve/gateway/rerank.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/gateway/json_text.h"
#include "serve/gateway/request_fields.h"
#include "serve/gateway/vectors.h"

namespace trellis::gateway {
namespace {

// How the answer is to be written, whichever the dialect.
struct Ranking {
  enum class Scores : uint8_t { kSigmoid, kRaw } scores = Scores::kSigmoid;
  enum class Texts : uint8_t { kLeftOut, kReturned } texts = Texts::kLeftOut;
  size_t top = std::numeric_limits<size_t>::max();

  float Shown(float logit) const { return scores == Scores::kRaw ? logit : Sigmoid(logit); }
};

std::vector<size_t> Best(const ComputedRows& rows, const Ranking& ranking) {
  std::vector<float> logits;
  for (size_t r = 0; r < rows.size(); ++r) logits.push_back(rows.values(r)[0]);
  std::vector<size_t> best = Descending(logits);
  best.resize(std::min(best.size(), ranking.top));
  return best;
}

// The texts are views of the body, which lives until the answer is written.
std::string WriteTei(const ComputedRows& rows, const Ranking& ranking,
                     const std::vector<std::string_view>& texts) {
  std::string out;
  JsonText json(out);
  json.Raw("[");
  bool first = true;
  for (const size_t place : Best(rows, ranking)) {
    json.Raw(first ? "{\"index\":" : ",{\"index\":").Integer(static_cast<int64_t>(place));
    if (ranking.texts == Ranking::Texts::kReturned) json.Raw(",\"text\":").String(texts[place]);
    json.Raw(",\"score\":").Float(ranking.Shown(rows.values(place)[0])).Raw("}");
    first = false;
  }
  json.Raw("]");
  return out;
}

std::string WriteObject(const ComputedRows& rows, const Ranking& ranking,
                        const std::vector<std::string_view>& documents, const std::string& id,
                        const std::string& model, std::string_view version) {
  std::string out;
  JsonText json(out);
  json.Raw("{\"id\":").String(id).Raw(",\"object\":\"list\",\"model\":").String(model).Raw(",\"results\":[");
  bool first = true;
  for (const size_t place : Best(rows, ranking)) {
    json.Raw(first ? "{\"index\":" : ",{\"index\":").Integer(static_cast<int64_t>(place));
    json.Raw(",\"relevance_score\":").Float(ranking.Shown(rows.values(place)[0]));
    if (ranking.texts == Ranking::Texts::kReturned)
      json.Raw(",\"document\":{\"text\":").String(documents[place]).Raw("}");
    json.Raw("}");
    first = false;
  }
  json.Raw("],\"usage\":{\"prompt_tokens\":").Integer(rows.tokens());
  json.Raw(",\"total_tokens\":").Integer(rows.tokens());
  json.Raw("},\"meta\":{\"api_version\":{\"version\":").String(version);
  json.Raw("},\"billed_units\":{\"search_units\":1}}}");
  return out;
}

std::string_view ReadQuery(JsonBody& body) {
  const auto query = body.Required("query", "a string");
  return query.has_value() ? body.AsString(*query, "query").value_or("") : "";
}

Ranking ReadRanking(JsonBody& body, const char* return_texts) {
  Ranking ranking;
  if (body.Bool("raw_scores").value_or(false)) ranking.scores = Ranking::Scores::kRaw;
  if (body.Bool(return_texts).value_or(false)) ranking.texts = Ranking::Texts::kReturned;
  if (const auto top = body.Integer("top_n", 1, std::numeric_limits<int64_t>::max()))
    ranking.top = static_cast<size_t>(*top);
  return ranking;
}

RowWork PairWork(std::string_view query, const std::vector<std::string_view>& texts) {
  RowWork work;
  for (const std::string_view text : texts) work.inputs.emplace_back(TextPair{query, text});
  work.task = {.task = engine::Task::kClassify};
  return work;
}

Result<RoutePlan> PlanTei(const RouteCall& call) {
  JsonBody& body = call.body;
  const ServedModel& model = call.model;
  if (body.error().has_value()) return *body.error();
  if (!model.Reranks()) return Unsupported(model, "scores pairs of texts");
  const std::string_view query = ReadQuery(body);
  std::vector<std::string_view> texts = ReadTexts(body, "texts", model);
  RowWork work = PairWork(query, texts);
  work.rules = ReadRules(body, "texts", model);
  const Ranking ranking = ReadRanking(body, "return_text");
  if (body.error().has_value()) return *body.error();
  work.write = [ranking, texts = std::move(texts)](const ComputedRows& rows) {
    return WriteTei(rows, ranking, texts);
  };
  return RoutePlan(std::move(work));
}

Result<RoutePlan> PlanObject(const RouteCall& call, std::string_view version) {
  JsonBody& body = call.body;
  const ServedModel& model = call.model;
  if (auto wrong = CheckModelName(body, model)) return *std::move(wrong);
  if (!model.Reranks()) return Unsupported(model, "scores pairs of texts");
  const std::string_view query = ReadQuery(body);
  std::vector<std::string_view> documents = ReadTexts(body, "documents", model, "text");
  RowWork work = PairWork(query, documents);
  work.rules = ReadRules(body, "documents", model);
  // A query that was cut would be another question.
  work.rules.pair_cut = Truncate::kOnlySecond;
  if (const auto most = body.Integer("max_tokens_per_doc", 1, std::numeric_limits<int64_t>::max()))
    work.rules.max_second_tokens = static_cast<size_t>(*most);
  Ranking ranking = ReadRanking(body, "return_documents");
  if (version == "2") ranking.texts = Ranking::Texts::kLeftOut;
  if (body.error().has_value()) return *body.error();
  work.write = [ranking, documents = std::move(documents), id = call.request_id, version,
                name = model.names.front()](const ComputedRows& rows) {
    return WriteObject(rows, ranking, documents, id, name, version);
  };
  return RoutePlan(std::move(work));
}

}  // namespace

Result<RoutePlan> PlanRerank(const RouteCall& call) {
  return call.body.Has("documents") && !call.body.Has("texts") ? PlanObject(call, "1") : PlanTei(call);
}
Result<RoutePlan> PlanRerankV1(const RouteCall& call) { return PlanObject(call, "1"); }
Result<RoutePlan> PlanRerankV2(const RouteCall& call) { return PlanObject(call, "2"); }

}  // namespace trellis::gateway
