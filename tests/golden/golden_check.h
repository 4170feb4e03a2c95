// Runs golden cases through a Tokenizer and says what differs, in words.
#ifndef TRELLIS_TESTS_GOLDEN_GOLDEN_CHECK_H_
#define TRELLIS_TESTS_GOLDEN_GOLDEN_CHECK_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/golden_case.h"
#include "trellis/code_point_offsets.h"
#include "trellis/decode_stream.h"
#include "trellis/internal/compiled.h"
#include "trellis/internal/explain.h"
#include "trellis/load.h"
#include "trellis/padding.h"

namespace trellis::golden {

inline std::string ModelPath() {
  const char* from_environment = std::getenv("TRELLIS_MODEL");
  return from_environment != nullptr ? from_environment : TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
}

struct Variant {
  const char* name;
  TokenizerOptions options;
  bool compiled = false;  // through a compiled file's bytes
};
inline const Variant kVariants[] = {
    {"shortcuts", {}},
    {"shortcuts, double array", {.trie = TokenizerOptions::TrieKind::kDoubleArray}},
    {"plain", {.shortcuts = false}},
    {"plain, double array", {.shortcuts = false, .trie = TokenizerOptions::TrieKind::kDoubleArray}},
    {"compiled", {}, true},
    {"compiled, plain", {.shortcuts = false}, true},
};

inline absl::StatusOr<Tokenizer> Make(const TokenizerSpec& spec, const Variant& variant) {
  if (!variant.compiled) return Tokenizer::Create(spec, variant.options);
  const absl::StatusOr<std::string> bytes = trellis::internal::CompiledBytes(spec);
  if (!bytes.ok()) return bytes.status();
  return trellis::internal::TokenizerOfCompiledBytes(*bytes, variant.options);
}

// The model of this variant, loaded once a process. A missing model is a
// failure, never a skip: these tests are what "exact" rests on.
inline const Tokenizer& Model(const Variant& variant) {
  static std::vector<std::pair<const Variant*, Tokenizer>> loaded;
  for (const auto& [key, tokenizer] : loaded) {
    if (key == &variant) return tokenizer;
  }
  const absl::StatusOr<TokenizerSpec> spec = LoadSpec(ModelPath());
  absl::StatusOr<Tokenizer> tokenizer = spec.ok() ? Make(*spec, variant) : spec.status();
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.status()
                  << "\nIf the model is not there: tools/fetch_model --tokenizer-only puts it into "
                  << "models/; TRELLIS_MODEL names another place.";
    std::exit(1);
  }
  loaded.reserve(std::size(kVariants));
  loaded.emplace_back(&variant, *std::move(tokenizer));
  return loaded.back().second;
}

// Encodes with one Scratch and one set of columns for all cases, as a server
// would: what a text leaves behind must not show in the next one.
class ColumnEncoder {
 public:
  enum class Columns { kIds, kAll };

  explicit ColumnEncoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  absl::StatusOr<Encoding> Encode(const GoldenCase& golden, const EncodeOptions& options, Columns columns) {
    const size_t bytes = golden.text.size() + (golden.pair ? golden.pair->size() : 0);
    scratch_.Reserve(tokenizer_.ScratchBytes(bytes));
    const size_t capacity = tokenizer_.MaxTokens(bytes);
    if (ids_.size() < capacity) {
      ids_.resize(capacity);
      offsets_.resize(capacity);
      type_ids_.resize(capacity);
      mask_.resize(capacity);
    }
    EncodingBuffer buffer{.ids = std::span(ids_).first(capacity)};
    if (columns == Columns::kAll) {
      buffer.offsets = offsets_;
      buffer.type_ids = type_ids_;
      buffer.special_tokens_mask = mask_;
    }
    return tokenizer_.Encode(golden.input(), options, scratch_, buffer);
  }

 private:
  const Tokenizer& tokenizer_;
  Scratch scratch_;
  std::vector<TokenId> ids_;
  std::vector<Offset> offsets_;
  std::vector<uint8_t> type_ids_;
  std::vector<uint8_t> mask_;
};

inline std::ostream& operator<<(std::ostream& out, const Offset& offset) {
  return out << offset.begin << '-' << offset.end;
}

// "" when equal, else the first difference.
template <typename Got, typename Want>
std::string Difference(const char* what, const Got& got, const Want& want) {
  const size_t common = std::min<size_t>(got.size(), want.size());
  size_t at = 0;
  while (at < common && got[at] == want[at]) ++at;
  if (at == got.size() && at == want.size()) return "";
  std::ostringstream out;
  const auto put = [&](const auto& column) {
    for (size_t i = at; i < std::min<size_t>(at + 5, column.size()); ++i) out << ' ' << +column[i];
    out << " (" << column.size() << " in all)";
  };
  out << "  " << what << " differ from " << at << " on: got";
  if constexpr (requires { want[0].begin; }) {
    out << " ";
    if (at < got.size()) out << got[at];
    out << ", want ";
    if (at < want.size()) out << want[at];
  } else {
    put(got);
    out << ", want";
    put(want);
  }
  out << '\n';
  return out.str();
}

// Rows of one case with their attention masks, padded when the case says so.
struct CheckedRows {
  std::vector<EncodedText> rows;
  std::vector<std::vector<uint8_t>> attention_masks;
};

inline absl::StatusOr<CheckedRows> EncodeRows(const Tokenizer& tokenizer, const GoldenCase& golden) {
  absl::StatusOr<std::vector<EncodedText>> rows = tokenizer.EncodeWindows(golden.input(), golden.options);
  if (!rows.ok()) return rows.status();
  CheckedRows checked{*std::move(rows), {}};
  const int32_t ends[] = {0, static_cast<int32_t>(checked.rows.front().ids.size())};
  for (EncodedText& row : checked.rows) {
    checked.attention_masks.push_back(
        golden.padding ? Pad(row, PaddedLength(ends, *golden.padding), *golden.padding)
                       : std::vector<uint8_t>(row.ids.size(), 1));
  }
  return checked;
}

// Byte offsets in code points, of rows of single texts. Those of malformed text
// are not compared: the reference cannot take it.
inline std::vector<Offset> InCodePoints(std::string_view text, const std::vector<Offset>& offsets) {
  CodePointOffsets converter;
  converter.SetText(text);
  std::vector<Offset> out;
  for (const Offset& offset : offsets) out.push_back(converter.FromBytes(offset));
  return out;
}

// The first row, and all others there are. Type ids of a pair's overflow are the
// template's here; the reference numbers the texts (hf/tokenizers, noted as a
// known difference).
inline std::string CheckRows(const Tokenizer& tokenizer, const GoldenCase& golden) {
  const absl::StatusOr<CheckedRows> checked = EncodeRows(tokenizer, golden);
  if (!checked.ok()) return "  windows: " + checked.status().ToString() + "\n";
  std::string out;
  if (golden.knows_overflow && checked->rows.size() != golden.overflow.size() + 1) {
    return "  " + std::to_string(checked->rows.size()) + " windows, want " +
           std::to_string(golden.overflow.size() + 1) + "\n";
  }
  for (size_t i = 0; i <= golden.overflow.size(); ++i) {
    const EncodedText& got = checked->rows[i];
    const GoldenRow& want = i == 0 ? golden : golden.overflow[i - 1];
    std::string row = Difference("ids", got.ids, want.ids) + Difference("offsets", got.offsets, want.offsets) +
                      Difference("special tokens mask", got.special_tokens_mask, want.special_tokens_mask) +
                      Difference("attention mask", checked->attention_masks[i], want.attention_mask);
    if (i == 0 || !golden.pair) row += Difference("type ids", got.type_ids, want.type_ids);
    if (!golden.pair && !want.char_offsets.empty()) {
      row += Difference("code point offsets", InCodePoints(golden.text, got.offsets), want.char_offsets);
    }
    if (!row.empty()) out += "  window " + std::to_string(i) + ":\n" + row;
  }
  return out;
}

inline std::string CheckStream(const Tokenizer& tokenizer, const GoldenCase& golden) {
  if (golden.stream.empty()) return "";
  DecodeStream stream(tokenizer, {.skip_special_tokens = false}, /*kept_ids=*/1);
  for (size_t i = 0; i < golden.ids.size(); ++i) {
    const absl::StatusOr<std::string_view> got = stream.Step(golden.ids[i]);
    const GoldenStep& want = golden.stream.at(i);
    if (got.ok() ? !want.is_error && *got == want.text.value_or("")
                 : want.is_error && absl::IsFailedPrecondition(got.status())) {
      continue;
    }
    return "  stream step " + std::to_string(i) + ": got " +
           (got.ok() ? "\"" + std::string(*got) + "\"" : got.status().ToString()) + ", want " +
           (want.is_error ? "an error" : "\"" + want.text.value_or("") + "\"") + "\n";
  }
  return "";
}

// The reference's strings of tokens: what a token covers of the normalized text,
// and of the text itself where that is a token added without normalization. Only
// explain knows them; it follows the plain path, so once for all variants does.
inline std::string CheckTokenTexts(const Tokenizer& tokenizer, const GoldenCase& golden) {
  if (golden.tokens.empty() || golden.pair || golden.padding || golden.options.add_special_tokens ||
      golden.options.truncate != Truncate::kNever) {
    return "";
  }
  const auto explained = trellis::internal::Explain(tokenizer, golden.text, golden.options);
  if (!explained.ok()) return "  explain: " + explained.status().ToString() + "\n";
  std::vector<std::string> texts;
  size_t row = 0;
  for (size_t i = 0; i < explained->segments.size(); ++i) {
    const auto& segment = explained->segments[i];
    if (segment.added_token >= 0) {
      texts.push_back(golden.text.substr(segment.begin, segment.end - segment.begin));
    }
    for (; row < explained->pieces.size() && explained->pre_tokens[explained->pieces[row].pre_token].segment == i; ++row) {
      const auto& piece = explained->pieces[row];
      // A byte's piece has a name of its own.
      const std::string_view name = tokenizer.vocab().Text(piece.id);
      texts.push_back(name.starts_with("<0x") && name.size() == 6 ? std::string(name) : piece.text);
    }
  }
  for (size_t i = 0; i < std::max(texts.size(), golden.tokens.size()); ++i) {
    const std::string got = i < texts.size() ? texts[i] : "(none)";
    const std::string want = i < golden.tokens.size() ? golden.tokens[i] : "(none)";
    if (got != want) return "  token " + std::to_string(i) + ": got \"" + got + "\", want \"" + want + "\"\n";
  }
  return "";
}

inline std::string CheckEncoding(ColumnEncoder& encoder, const Tokenizer& tokenizer, const GoldenCase& golden) {
  const absl::StatusOr<Encoding> all = encoder.Encode(golden, golden.options, ColumnEncoder::Columns::kAll);
  if (!golden.expect_error.empty()) {
    if (all.status().code() == absl::StatusCode::kInvalidArgument) return "";
    return "  got " + all.status().ToString() + ", want InvalidArgument (" + golden.expect_error + ")\n";
  }
  if (!all.ok()) return "  " + all.status().ToString() + "\n";
  const std::vector<TokenId> unpadded(all->ids.begin(), all->ids.end());
  std::string out;
  if (!golden.padding) {
    out += Difference("ids", all->ids, golden.ids) + Difference("offsets", all->offsets, golden.offsets) +
           Difference("type ids", all->type_ids, golden.type_ids) +
           Difference("special tokens mask", all->special_tokens_mask, golden.special_tokens_mask);
  }
  out += CheckRows(tokenizer, golden) + CheckTokenTexts(tokenizer, golden);
  const absl::StatusOr<Encoding> ids = encoder.Encode(golden, golden.options, ColumnEncoder::Columns::kIds);
  if (!ids.ok()) return out + "  ids alone: " + ids.status().ToString() + "\n";
  if (!ids->offsets.empty() || !ids->type_ids.empty())
    out += "  a column that was not asked for is not empty\n";
  return out + Difference("ids without other columns", ids->ids, unpadded);
}

inline std::string CheckDecoding(const Tokenizer& tokenizer, const GoldenCase& golden) {
  std::string out;
  for (const bool skip : {false, true}) {
    if (skip && !golden.decoded_skip_special) continue;
    const DecodeOptions options{.skip_special_tokens = skip};
    const std::string& want = skip ? *golden.decoded_skip_special : golden.decoded;
    const char* what = skip ? "decoded without specials" : "decoded";
    const std::string owned = tokenizer.Decode(golden.ids, options);
    if (owned != want) out += std::string("  ") + what + ": got \"" + owned + "\", want \"" + want + "\"\n";
    std::vector<char> bytes(tokenizer.DecodedBytes(golden.ids));
    const absl::StatusOr<std::string_view> viewed = tokenizer.Decode(golden.ids, options, bytes);
    if (!viewed.ok() || *viewed != want)
      out += std::string("  ") + what + " into memory of DecodedBytes differs\n";
  }
  return out;
}

inline std::string CheckRefusedDecoding(const Tokenizer& tokenizer, const GoldenCase& golden) {
  std::vector<char> bytes(tokenizer.DecodedBytes(golden.ids));
  const absl::Status status = tokenizer.Decode(golden.ids, {.skip_special_tokens = false}, bytes).status();
  return absl::IsInvalidArgument(status) ? "" : "  decoding: " + status.ToString() + ", want InvalidArgument\n";
}

// Fails once, with the first differences; returns how many cases were looked at.
inline size_t CheckAll(const char* variant, const Tokenizer& tokenizer, const std::vector<GoldenCase>& cases) {
  constexpr size_t kShown = 10;
  ColumnEncoder encoder(tokenizer);
  size_t looked_at = 0;
  size_t different = 0;
  std::string shown;
  for (const GoldenCase& golden : cases) {
    if (!golden.unsupported.empty()) continue;
    ++looked_at;
    std::string difference;
    if (golden.has_encoding || !golden.expect_error.empty()) difference += CheckEncoding(encoder, tokenizer, golden);
    if (golden.has_decoding) difference += CheckDecoding(tokenizer, golden);
    if (golden.decode_error) difference += CheckRefusedDecoding(tokenizer, golden);
    difference += CheckStream(tokenizer, golden);
    if (difference.empty()) continue;
    if (++different <= kShown) shown += golden.name + "\n" + difference;
  }
  EXPECT_EQ(different, 0u) << variant << ": " << different << " of " << looked_at
                           << " cases differ; the first:\n"
                           << shown;
  return looked_at;
}
inline size_t CheckAll(const Variant& variant, const std::vector<GoldenCase>& cases) {
  return CheckAll(variant.name, Model(variant), cases);
}

}  // namespace trellis::golden

#endif  // TRELLIS_TESTS_GOLDEN_GOLDEN_CHECK_H_
