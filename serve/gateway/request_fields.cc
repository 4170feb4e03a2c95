#include "serve/gateway/request_fields.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace trellis::gateway {
namespace {

constexpr std::string_view kInputForms = "a string, an array of strings, or token ids";

TokenRow ReadTokens(JsonBody& body, simdjson::dom::array tokens, const std::string& place) {
  TokenRow row;
  row.reserve(tokens.size());
  for (const JsonValue token : tokens) {
    int64_t id = 0;
    const std::string at = Place(place, row.size());
    if (!token.is<int64_t>() && !token.is<uint64_t>()) {
      body.Fail(Fault::kWrongType, at,
                JsonBody::Quoted(token) + ", expected a token id, as the first is one");
      return row;
    }
    if (token.get(id) != simdjson::SUCCESS || id < std::numeric_limits<TokenId>::min() ||
        id > std::numeric_limits<TokenId>::max()) {
      body.Fail(Fault::kOutOfRange, at, JsonBody::Quoted(token) + ", expected an id of the vocabulary");
      return row;
    }
    row.push_back(static_cast<TokenId>(id));
  }
  return row;
}

bool StartsWithNumber(simdjson::dom::array array) {
  return array.begin() != array.end() && (*array.begin()).is_number();
}

void ReadElement(JsonBody& body, JsonValue element, const std::string& place, std::vector<RowInput>& inputs) {
  simdjson::dom::array tokens;
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    if (text.empty()) body.Fail(Fault::kEmptyInput, place, "empty, expected a text");
    inputs.emplace_back(text);
  } else if (element.get(tokens) == simdjson::SUCCESS) {
    if (tokens.begin() == tokens.end()) body.Fail(Fault::kEmptyInput, place, "an empty list of token ids");
    inputs.emplace_back(ReadTokens(body, tokens, place));
  } else {
    body.Fail(Fault::kWrongType, place,
              JsonBody::Quoted(element) + ", expected a string or an array of token ids");
  }
}

std::string Names(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) absl::StrAppend(&all, all.empty() ? "" : ", ", name);
  return all;
}

}  // namespace

void CheckCount(JsonBody& body, std::string_view field, size_t count, const ServedModel& model) {
  const size_t most = model.policy.max_client_batch;
  if (count > most) {
    body.Fail(Fault::kTooManyInputs, field, absl::StrCat(count, " inputs, expected at most ", most));
  }
}

void CheckNotEmpty(JsonBody& body, std::string_view field, const std::vector<std::string_view>& texts) {
  const auto empty = std::find_if(texts.begin(), texts.end(), [](std::string_view t) { return t.empty(); });
  if (empty == texts.end()) return;
  body.Fail(Fault::kEmptyInput, Place(field, static_cast<size_t>(empty - texts.begin())),
            "empty, expected a text");
}

std::vector<RowInput> ReadInputs(JsonBody& body, std::string_view field, const ServedModel& model) {
  std::vector<RowInput> inputs;
  const std::optional<JsonValue> value = body.Required(field, kInputForms);
  if (!value.has_value()) return inputs;
  if (value->is_string()) {
    ReadElement(body, *value, std::string(field), inputs);
    return inputs;
  }
  const std::optional<simdjson::dom::array> array = body.AsArray(*value, field, kInputForms);
  if (!array.has_value()) return inputs;
  if (StartsWithNumber(*array)) {
    inputs.emplace_back(ReadTokens(body, *array, std::string(field)));
    return inputs;
  }
  if (array->begin() == array->end()) {
    body.Fail(Fault::kEmptyInput, field, "an empty list, expected at least one input");
  }
  CheckCount(body, field, array->size(), model);
  if (body.error().has_value()) return inputs;
  for (const JsonValue element : *array) {
    ReadElement(body, element, Place(field, inputs.size()), inputs);
    if (body.error().has_value()) return inputs;
  }
  return inputs;
}

std::vector<std::string_view> ReadTexts(JsonBody& body, std::string_view field, const ServedModel& model,
                                        std::string_view key) {
  std::vector<std::string_view> texts;
  const std::optional<JsonValue> value = body.Required(field, "an array of strings");
  if (!value.has_value()) return texts;
  const std::optional<simdjson::dom::array> array = body.AsArray(*value, field, "an array of strings");
  if (!array.has_value()) return texts;
  if (array->begin() == array->end()) {
    body.Fail(Fault::kEmptyInput, field, "an empty list, expected at least one text");
  }
  CheckCount(body, field, array->size(), model);
  if (body.error().has_value()) return texts;
  for (const JsonValue element : *array) {
    const std::string place = Place(field, texts.size());
    std::optional<JsonValue> text = element;
    if (element.is_object() && !key.empty()) {
      text = body.FindIn(element, key);
      if (!text.has_value()) {
        body.Fail(Fault::kInvalidValue, place, absl::StrCat("an object without `", std::string(key), "`"));
        return texts;
      }
    }
    const std::optional<std::string_view> string = body.AsString(*text, place);
    if (!string.has_value()) return texts;
    texts.push_back(*string);
  }
  return texts;
}

EncodeRules ReadRules(JsonBody& body, std::string_view texts_field, const ServedModel& model) {
  EncodeRules rules;
  rules.field = texts_field;
  rules.max_tokens = model.max_tokens();
  rules.vocab_size = model.engine.vocab_size;
  rules.too_long = model.policy.too_long;
  rules.special_text = model.policy.special_text;
  if (const auto truncate = body.Bool("truncate"))
    rules.too_long = *truncate ? EncodeRules::TooLong::kCut : EncodeRules::TooLong::kRefuse;
  if (const auto side = body.String("truncation_direction")) {
    const std::string lower = absl::AsciiStrToLower(absl::string_view(side->data(), side->size()));
    if (lower != "left" && lower != "right") {
      body.Fail(Fault::kInvalidValue, "truncation_direction",
                absl::StrCat("\"", std::string(side->substr(0, 20)), "\", expected \"Left\" or \"Right\""));
    }
    rules.side = lower == "left" ? Side::kLeft : Side::kRight;
  }
  if (const auto add = body.Bool("add_special_tokens"))
    rules.specials = *add ? EncodeRules::Specials::kAdd : EncodeRules::Specials::kLeave;
  if (const auto match = body.Bool("match_special_tokens"))
    rules.special_text = *match ? EncodeRules::SpecialText::kMatch : EncodeRules::SpecialText::kShield;
  return rules;
}

void ReadPrompt(JsonBody& body, const ServedModel& model, EncodeRules& rules) {
  rules.prompt = model.policy.default_prompt;
  const std::optional<std::string_view> name = body.String("prompt_name");
  if (!name.has_value()) return;
  const absl::StatusOr<std::string_view> prompt = model.folder.prompts.Named(*name);
  if (!prompt.ok()) {
    body.Fail(Fault::kOutOfRange, "prompt_name", std::string(prompt.status().message()));
    return;
  }
  rules.prompt = std::string(*prompt);
}

void CheckPromptFits(JsonBody& body, const std::vector<RowInput>& inputs) {
  if (!body.Has("prompt_name")) return;
  if (std::any_of(inputs.begin(), inputs.end(), [](const RowInput& input) { return input.index() != 0; })) {
    body.Fail(Fault::kInvalidValue, "prompt_name",
              "given beside token ids, expected texts to put it in front of");
  }
}

void ReadVectorShape(JsonBody& body, const ServedModel& model, engine::RowTask& task) {
  if (const auto normalize = body.Bool("normalize"))
    task.normalize = *normalize ? engine::Normalize::kL2 : engine::Normalize::kNone;
  if (const auto dimensions = body.Integer("dimensions", 1, model.engine.dimensions))
    task.dimensions = static_cast<int32_t>(*dimensions);
}

std::optional<ApiError> CheckModelName(JsonBody& body, const ServedModel& model) {
  const std::optional<std::string_view> name = body.String("model");
  if (body.error().has_value()) return body.error();
  if (!name.has_value() || model.policy.model_name == RequestPolicy::ModelName::kAny) return std::nullopt;
  if (std::find(model.names.begin(), model.names.end(), *name) != model.names.end()) return std::nullopt;
  return ApiError{Fault::kModelNotFound,
                  absl::StrCat("`model`: \"", std::string(name->substr(0, 100)),
                               "\" is not served here, expected ", Names(model.names)),
                  "model"};
}

ApiError Unsupported(const ServedModel& model, std::string_view wanted) {
  const char* does = model.Reranks()                       ? "scores pairs of texts"
                     : model.Does(engine::Task::kClassify) ? "classifies texts"
                                                           : "embeds texts";
  return {Fault::kUnsupportedTask, absl::StrCat("model ", model.names.front(), " ", does,
                                                ", expected one that ", std::string(wanted))};
}

int64_t Characters(const std::vector<RowInput>& inputs) {
  const auto count = [](std::string_view text) {  // code points: bytes that begin one
    return std::count_if(text.begin(), text.end(),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  };
  int64_t characters = 0;
  for (const RowInput& input : inputs) {
    if (const auto* text = std::get_if<std::string_view>(&input)) characters += count(*text);
    if (const auto* pair = std::get_if<TextPair>(&input))
      characters += count(pair->first) + count(pair->second);
  }
  return characters;
}

}  // namespace trellis::gateway
