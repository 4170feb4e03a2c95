#include "tools/cli/encoding_json.h"

#include "tools/cli/json_writer.h"

namespace trellis::cli {
namespace {

void AppendOffset(const Offset& offset, std::string& out) {
  out += '[';
  AppendInteger(offset.begin, out);
  out += ',';
  AppendInteger(offset.end, out);
  out += ']';
}

}  // namespace

void AppendRow(const Vocab& vocab, const JsonRow& row, std::string& out) {
  out += "{\"ids\":";
  AppendJsonArray(row.ids, out, AppendInteger<TokenId>);
  out += ",\"tokens\":";
  AppendJsonArray(row.ids, out, [&vocab](TokenId id, std::string& to) { AppendJsonString(vocab.Text(id), to); });
  out += ",\"offsets\":";
  AppendJsonArray(row.offsets, out, AppendOffset);
  out += ",\"type_ids\":";
  AppendJsonArray(row.type_ids, out, AppendInteger<unsigned>);
  out += ",\"special_tokens_mask\":";
  AppendJsonArray(row.special_tokens_mask, out, AppendInteger<unsigned>);
  if (!row.attention_mask.has_value()) return;
  out += ",\"attention_mask\":";
  AppendJsonArray(*row.attention_mask, out, AppendInteger<unsigned>);
}

}  // namespace trellis::cli
