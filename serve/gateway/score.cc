#include "serve/gateway/score.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/gateway/json_text.h"
#include "serve/gateway/request_fields.h"
#include "serve/gateway/vectors.h"

namespace trellis::gateway {
namespace {

using Texts = std::vector<std::string_view>;

Texts ReadSide(JsonBody& body, std::string_view field, const ServedModel& model) {
  const auto value = body.Required(field, "a string or an array of strings");
  std::string_view text;
  if (value.has_value() && value->get(text) == simdjson::SUCCESS) return {text};
  return ReadTexts(body, field, model);
}

// The i-th pair of texts, where one text on a side stands against all of the other.
size_t At(size_t pair, size_t texts) { return texts == 1 ? 0 : pair; }

std::string Write(const std::vector<float>& scores, int64_t tokens, const std::string& id,
                  const std::string& model) {
  std::string out;
  JsonText json(out);
  json.Raw("{\"id\":").String(id).Raw(",\"object\":\"list\",\"model\":").String(model).Raw(",\"data\":[");
  for (size_t i = 0; i < scores.size(); ++i) {
    json.Raw(i == 0 ? "" : ",").Raw("{\"index\":").Integer(static_cast<int64_t>(i));
    json.Raw(",\"object\":\"score\",\"score\":").Float(scores[i]).Raw("}");
  }
  json.Raw("],\"usage\":{\"prompt_tokens\":").Integer(tokens);
  json.Raw(",\"total_tokens\":").Integer(tokens).Raw("}}");
  return out;
}

}  // namespace

Result<RoutePlan> PlanScore(const RouteCall& call) {
  JsonBody& body = call.body;
  const ServedModel& model = call.model;
  if (auto wrong = CheckModelName(body, model)) return *std::move(wrong);
  const bool pairs = model.Reranks();
  if (!pairs && !model.Does(engine::Task::kEmbed))
    return Unsupported(model, "scores pairs of texts or embeds texts");
  const bool named = body.Has("queries") || body.Has("documents");
  const char* const first_field = named ? "queries" : "text_1";
  const char* const second_field = named ? "documents" : "text_2";
  const Texts first = ReadSide(body, first_field, model);
  const Texts second = ReadSide(body, second_field, model);
  const size_t count = std::max(first.size(), second.size());
  if (first.size() != count && first.size() != 1) {
    body.Fail(Fault::kOutOfRange, first_field,
              absl::StrCat(first.size(), " texts, expected one or ", count, " as in ", second_field));
  } else if (second.size() != count && second.size() != 1) {
    body.Fail(Fault::kOutOfRange, second_field,
              absl::StrCat(second.size(), " texts, expected one or ", count, " as in ", first_field));
  }
  RowWork work;
  work.rules = ReadRules(body, second_field, model);
  const bool raw = body.Bool("raw_scores").value_or(false);
  if (!pairs) {
    ReadPrompt(body, model, work.rules);
    work.rules.leading_field = first_field;
    work.rules.leading = first.size();
    CheckNotEmpty(body, first_field, first);
    CheckNotEmpty(body, second_field, second);
  }
  if (body.error().has_value()) return *body.error();

  const auto finish = [id = call.request_id, name = model.names.front()](const std::vector<float>& scores,
                                                                         int64_t tokens) {
    return Write(scores, tokens, id, name);
  };
  if (pairs) {
    for (size_t i = 0; i < count; ++i)
      work.inputs.emplace_back(TextPair{first[At(i, first.size())], second[At(i, second.size())]});
    work.task = {.task = engine::Task::kClassify};
    work.write = [finish, raw](const ComputedRows& rows) {
      std::vector<float> scores;
      for (size_t r = 0; r < rows.size(); ++r)
        scores.push_back(raw ? rows.values(r)[0] : Sigmoid(rows.values(r)[0]));
      return finish(scores, rows.tokens());
    };
    return RoutePlan(std::move(work));
  }
  for (const Texts* texts : {&first, &second})
    work.inputs.insert(work.inputs.end(), texts->begin(), texts->end());
  work.task = {.task = engine::Task::kEmbed, .pooling = model.policy.pooling};
  work.write = [finish, firsts = first.size(), seconds = second.size(), count](const ComputedRows& rows) {
    std::vector<float> scores;
    for (size_t i = 0; i < count; ++i)
      scores.push_back(Cosine(rows.values(At(i, firsts)), rows.values(firsts + At(i, seconds))));
    return finish(scores, rows.tokens());
  };
  return RoutePlan(std::move(work));
}

}  // namespace trellis::gateway
