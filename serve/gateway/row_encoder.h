// From a client's text to the row that an engine gets: prompt in front, once, then tokens, then the cut. One
// a thread: its memory is used again for the next text, so that a steady stream of texts allocates nothing
// but the rows themselves.
#ifndef TRELLIS_SERVE_GATEWAY_ROW_ENCODER_H_
#define TRELLIS_SERVE_GATEWAY_ROW_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "serve/gateway/api_error.h"
#include "serve/gateway/result.h"
#include "serve/model/tokenizer_settings.h"
#include "trellis/tokenizer.h"

namespace trellis::gateway {

struct TextPair {
  std::string_view first, second;
};
using TokenRow = std::vector<TokenId>;  // as the client gave it
using RowInput = std::variant<std::string_view, TextPair, TokenRow>;

struct EncodeRules {
  enum class TooLong : uint8_t { kCut, kRefuse };
  enum class Specials : uint8_t { kAdd, kLeave };
  enum class SpecialText : uint8_t { kMatch, kShield };  // as EncodeOptions::match_special_tokens

  std::string prompt;  // in front of each text; not of pairs and token rows
  TooLong too_long = TooLong::kCut;
  Side side = Side::kRight;                     // that is cut
  Truncate pair_cut = Truncate::kLongestFirst;  // of pairs
  Specials specials = Specials::kAdd;           // to token rows: where they are absent
  SpecialText special_text = SpecialText::kMatch;
  size_t max_tokens = 0;              // of a row, specials included
  size_t max_second_tokens = 0;       // of a pair's second text, which is cut to it beforehand; 0: no bound
  int32_t vocab_size = 0;             // of the model: what a token row may hold
  std::string_view field = "inputs";  // what the client calls the texts, for messages
  std::string_view leading_field;     // and the first of them, where they are from another field
  size_t leading = 0;                 // so many
};

// Rows end to end.
struct EncodedRows {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // [ids], or empty: all 0
  std::vector<int32_t> cu_seqlens = {0};
  size_t truncated = 0;  // rows that were cut

  size_t size() const { return cu_seqlens.size() - 1; }
  int32_t tokens(size_t row) const { return cu_seqlens[row + 1] - cu_seqlens[row]; }
  void Append(const EncodedRows& more);
};

class RowEncoder {
 public:
  // `tokenizer` outlives the encoder.
  RowEncoder(const Tokenizer& tokenizer, model::TypeIds type_ids);

  // Appends one row. Otherwise what is wrong; `index` is the text's place among the client's.
  std::optional<ApiError> Append(const RowInput& input, size_t index, const EncodeRules& rules,
                                 EncodedRows& rows);

  // Tokens of one text with their offsets into prompt and text, nothing cut. Good until the next call.
  struct Tokens {
    Encoding encoding;
    std::string_view text;  // prompt and text
  };
  Result<Tokens> Tokenize(std::string_view text, size_t index, const EncodeRules& rules);

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  std::optional<ApiError> AppendTokens(const TokenRow& row, size_t index, const EncodeRules& rules,
                                       EncodedRows& rows);
  enum class Columns : uint8_t { kOfRows, kOfTokens };
  absl::StatusOr<Encoding> Encode(const Input& input, const EncodeOptions& options, Columns columns);
  EncodingBuffer Room(size_t tokens, Columns columns);
  std::string_view WithPrompt(std::string_view text, const std::string& prompt);
  std::string_view CutSecond(std::string_view second, const EncodeRules& rules);
  void Shrink();

  const Tokenizer& tokenizer_;
  const model::TypeIds type_ids_;
  std::vector<TokenId> begin_, end_;  // specials around a single text
  Scratch scratch_;
  std::vector<TokenId> ids_;
  std::vector<Offset> offsets_;
  std::vector<uint8_t> row_type_ids_, special_mask_;
  std::string text_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_ROW_ENCODER_H_
