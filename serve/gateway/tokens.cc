#include "serve/gateway/tokens.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/gateway/json_text.h"
#include "serve/gateway/request_fields.h"

namespace trellis::gateway {
namespace {

void WriteTokens(const RowEncoder::Tokens& tokens, const Vocab& vocab, JsonText& json) {
  const Encoding& encoding = tokens.encoding;
  json.Raw("[");
  for (size_t t = 0; t < encoding.ids.size(); ++t) {
    const TokenId id = encoding.ids[t];
    const Offset offset = encoding.offsets[t];
    json.Raw(t == 0 ? "{\"id\":" : ",{\"id\":").Integer(id).Raw(",\"text\":");
    if (encoding.special_tokens_mask[t] != 0) {
      json.String(vocab.Text(id)).Raw(",\"special\":true,\"start\":null,\"stop\":null}");
      continue;
    }
    json.String(tokens.text.substr(offset.begin, offset.end - offset.begin)).Raw(",\"special\":false");
    json.Raw(",\"start\":").Integer(offset.begin).Raw(",\"stop\":").Integer(offset.end).Raw("}");
  }
  json.Raw("]");
}

// A list of ids, or of such lists.
std::vector<TokenRow> ReadIds(JsonBody& body, const ServedModel& model) {
  std::vector<TokenRow> rows;
  for (RowInput& input : ReadInputs(body, "ids", model)) {
    TokenRow* const row = std::get_if<TokenRow>(&input);
    if (row == nullptr) {
      body.Fail(Fault::kWrongType, Place("ids", rows.size()), "a string, expected a list of token ids");
      return {};
    }
    const TokenId end = model.folder.tokenizer.vocab().size();
    for (size_t i = 0; i < row->size(); ++i) {
      if ((*row)[i] >= 0 && (*row)[i] < end) continue;
      body.Fail(Fault::kOutOfRange, Place(Place("ids", rows.size()), i),
                absl::StrCat((*row)[i], ", expected 0 to ", end - 1));
      return {};
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace

Result<RoutePlan> PlanTokenize(const RouteCall& call) {
  JsonBody& body = call.body;
  if (body.error().has_value()) return *body.error();
  const std::vector<RowInput> inputs = ReadInputs(body, "inputs", call.model);
  EncodeRules rules = ReadRules(body, "inputs", call.model);
  ReadPrompt(body, call.model, rules);
  for (const RowInput& input : inputs) {
    if (input.index() != 0) body.Fail(Fault::kWrongType, "inputs", "token ids, expected texts");
  }
  if (body.error().has_value()) return *body.error();
  Written written;
  JsonText json(written.body);
  json.Raw("[");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Result<RowEncoder::Tokens> tokens =
        call.encoder.Tokenize(std::get<std::string_view>(inputs[i]), i, rules);
    if (!tokens.ok()) return tokens.error();
    if (i > 0) json.Raw(",");
    WriteTokens(*tokens, call.encoder.tokenizer().vocab(), json);
  }
  json.Raw("]");
  return RoutePlan(std::move(written));
}

Result<RoutePlan> PlanDecode(const RouteCall& call) {
  JsonBody& body = call.body;
  if (body.error().has_value()) return *body.error();
  const std::vector<TokenRow> rows = ReadIds(body, call.model);
  const DecodeOptions options{.skip_special_tokens = body.Bool("skip_special_tokens").value_or(true)};
  if (body.error().has_value()) return *body.error();
  Written written;
  JsonText json(written.body);
  json.Raw("[");
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r > 0) json.Raw(",");
    json.String(call.encoder.tokenizer().Decode(rows[r], options));
  }
  json.Raw("]");
  return RoutePlan(std::move(written));
}

}  // namespace trellis::gateway
