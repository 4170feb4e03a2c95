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
#include "trellis/load.h"

namespace trellis::golden {

inline std::string ModelPath() {
  const char* from_environment = std::getenv("TRELLIS_MODEL");
  return from_environment != nullptr ? from_environment : TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
}

struct Variant {
  const char* name;
  TokenizerOptions options;
};
inline const Variant kVariants[] = {
    {"shortcuts", {}},
    {"shortcuts, double array", {.trie = TokenizerOptions::TrieKind::kDoubleArray}},
    {"plain", {.shortcuts = false}},
    {"plain, double array", {.shortcuts = false, .trie = TokenizerOptions::TrieKind::kDoubleArray}},
};

// The model with these options, loaded once a process. A missing model is a
// failure, never a skip: these tests are what "exact" rests on.
inline const Tokenizer& Model(const Variant& variant) {
  static std::vector<std::pair<const Variant*, Tokenizer>> loaded;
  for (const auto& [key, tokenizer] : loaded) {
    if (key == &variant) return tokenizer;
  }
  absl::StatusOr<Tokenizer> tokenizer = LoadTokenizer(ModelPath(), {.tokenizer = variant.options});
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

inline std::string CheckEncoding(ColumnEncoder& encoder, const GoldenCase& golden) {
  const absl::StatusOr<Encoding> all = encoder.Encode(golden, golden.options, ColumnEncoder::Columns::kAll);
  if (!golden.expect_error.empty()) {
    if (all.status().code() == absl::StatusCode::kInvalidArgument) return "";
    return "  got " + all.status().ToString() + ", want InvalidArgument (" + golden.expect_error + ")\n";
  }
  if (!all.ok()) return "  " + all.status().ToString() + "\n";
  std::string out = Difference("ids", all->ids, golden.ids) +
                    Difference("offsets", all->offsets, golden.offsets) +
                    Difference("type ids", all->type_ids, golden.type_ids) +
                    Difference("special tokens mask", all->special_tokens_mask, golden.special_tokens_mask);
  const absl::StatusOr<Encoding> ids = encoder.Encode(golden, golden.options, ColumnEncoder::Columns::kIds);
  if (!ids.ok()) return out + "  ids alone: " + ids.status().ToString() + "\n";
  if (!ids->offsets.empty() || !ids->type_ids.empty())
    out += "  a column that was not asked for is not empty\n";
  return out + Difference("ids without other columns", ids->ids, golden.ids);
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

// Fails once, with the first differences; returns how many cases were looked at.
inline size_t CheckAll(const Variant& variant, const std::vector<GoldenCase>& cases) {
  constexpr size_t kShown = 10;
  const Tokenizer& tokenizer = Model(variant);
  ColumnEncoder encoder(tokenizer);
  size_t looked_at = 0;
  size_t different = 0;
  std::string shown;
  for (const GoldenCase& golden : cases) {
    if (!golden.unsupported.empty()) continue;
    ++looked_at;
    std::string difference;
    if (golden.has_encoding || !golden.expect_error.empty()) difference += CheckEncoding(encoder, golden);
    if (golden.has_decoding) difference += CheckDecoding(tokenizer, golden);
    if (difference.empty()) continue;
    if (++different <= kShown) shown += golden.name + "\n" + difference;
  }
  EXPECT_EQ(different, 0u) << variant.name << ": " << different << " of " << looked_at
                           << " cases differ; the first:\n"
                           << shown;
  return looked_at;
}

}  // namespace trellis::golden

#endif  // TRELLIS_TESTS_GOLDEN_GOLDEN_CHECK_H_
