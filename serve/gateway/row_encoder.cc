#include "serve/gateway/row_encoder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "serve/gateway/json_body.h"
#include "trellis/growing_scratch.h"

namespace trellis::gateway {
namespace {

// One long text must not keep its memory for ever: texts beyond this are rare.
constexpr size_t kKeptTokens = size_t{2} << 20;
constexpr size_t kKeptScratch = size_t{512} << 20;  // of which only what a text has touched is memory

constexpr size_t kFirstTokens = 64;

// Where the client put this input.
std::string PlaceOf(size_t index, const EncodeRules& rules) {
  if (index >= rules.leading) return Place(rules.field, index - rules.leading);
  return rules.leading == 1 ? std::string(rules.leading_field) : Place(rules.leading_field, index);
}

ApiError TooLongError(size_t tokens, size_t index, const EncodeRules& rules) {
  std::string place = PlaceOf(index, rules);
  return {Fault::kTooLong,
          absl::StrCat("`", place, "`: ", tokens, " tokens, expected at most ", rules.max_tokens,
                       ", or truncate: true"),
          std::move(place)};
}

ApiError EncodeFailure(const absl::Status& status, size_t index, const EncodeRules& rules) {
  std::string place = PlaceOf(index, rules);
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    return {Fault::kTooLong,
            absl::StrCat("`", place, "`: cannot be cut to ", rules.max_tokens,
                         " tokens, expected texts that leave room for each other"),
            std::move(place)};
  }
  return {Fault::kEngine, absl::StrCat("`", place, "`: cannot be tokenized"), std::move(place)};
}

bool BeginsWith(std::span<const TokenId> row, std::span<const TokenId> begin) {
  return row.size() >= begin.size() && std::equal(begin.begin(), begin.end(), row.begin());
}

bool EndsWith(std::span<const TokenId> row, std::span<const TokenId> end) {
  return row.size() >= end.size() && std::equal(end.rbegin(), end.rend(), row.rbegin());
}

}  // namespace

void EncodedRows::Append(const EncodedRows& more) {
  const int32_t before = cu_seqlens.back();
  ids.insert(ids.end(), more.ids.begin(), more.ids.end());
  type_ids.insert(type_ids.end(), more.type_ids.begin(), more.type_ids.end());
  for (size_t r = 0; r < more.size(); ++r) cu_seqlens.push_back(before + more.cu_seqlens[r + 1]);
  truncated += more.truncated;
}

RowEncoder::RowEncoder(const Tokenizer& tokenizer, model::TypeIds type_ids)
    : tokenizer_(tokenizer), type_ids_(type_ids) {
  std::vector<TokenId>* side = &begin_;
  for (const TemplatePiece& piece : tokenizer.spec_without_pieces().post_processor.single) {
    if (const auto* special = std::get_if<TemplateSpecial>(&piece)) {
      side->insert(side->end(), special->ids.begin(), special->ids.end());
    } else {
      side = &end_;
    }
  }
}

// Nearly all texts have fewer tokens than bytes; the bound can be many times that.
absl::StatusOr<Encoding> RowEncoder::Encode(const Input& input, const EncodeOptions& options, Columns columns) {
  const size_t bytes = input.text.size() + input.pair.value_or("").size();
  const size_t most = std::min(tokenizer_.MaxTokens(bytes), size_t{std::numeric_limits<int32_t>::max()});
  for (size_t tokens = std::min(most, bytes + kFirstTokens);; tokens = std::min(most, 4 * tokens)) {
    const EncodingBuffer buffer = Room(std::max(tokens, ids_.size()), columns);
    absl::StatusOr<Encoding> encoding = WithGrowingScratch(
        tokenizer_, bytes, scratch_, [&] { return tokenizer_.Encode(input, options, scratch_, buffer); });
    if (!absl::IsResourceExhausted(encoding.status()) || buffer.ids.size() >= most) return encoding;
  }
}

EncodingBuffer RowEncoder::Room(size_t tokens, Columns columns) {
  const auto column = [&](auto& values) {
    if (values.size() < tokens) values.resize(tokens);
    return std::span(values);
  };
  EncodingBuffer buffer{.ids = column(ids_)};
  if (columns == Columns::kOfTokens) {
    buffer.offsets = column(offsets_);
    buffer.special_tokens_mask = column(special_mask_);
  } else if (type_ids_ == model::TypeIds::kTemplate) {
    buffer.type_ids = column(row_type_ids_);
  }
  return buffer;
}

void RowEncoder::Shrink() {
  if (ids_.size() <= kKeptTokens && scratch_.capacity() <= kKeptScratch) return;
  scratch_ = Scratch();
  ids_ = {};
  offsets_ = {};
  row_type_ids_ = special_mask_ = {};
  text_ = {};
}

std::string_view RowEncoder::WithPrompt(std::string_view text, const std::string& prompt) {
  if (prompt.empty()) return text;
  text_.assign(prompt).append(text);
  return text_;
}

// At the end of the last token that is kept, so that what is left is a part of the client's text.
std::string_view RowEncoder::CutSecond(std::string_view second, const EncodeRules& rules) {
  EncodeRules alone;  // no prompt, nothing cut
  alone.specials = EncodeRules::Specials::kLeave;
  alone.special_text = rules.special_text;
  const Result<Tokens> tokens = Tokenize(second, 0, alone);
  if (!tokens.ok()) return second;  // then the row as a whole says so
  const std::span<const Offset> offsets = tokens->encoding.offsets;
  const size_t most = rules.max_second_tokens;
  if (offsets.size() <= most) return second;
  if (rules.side == Side::kLeft) return second.substr(offsets[offsets.size() - most].begin);
  return second.substr(0, offsets[most - 1].end);
}

std::optional<ApiError> RowEncoder::Append(const RowInput& input, size_t index, const EncodeRules& rules,
                                           EncodedRows& rows) {
  if (const auto* tokens = std::get_if<TokenRow>(&input)) return AppendTokens(*tokens, index, rules, rows);
  Input read;
  size_t cut_before = 0;
  if (const auto* pair = std::get_if<TextPair>(&input)) {
    std::string_view second = pair->second;
    if (rules.max_second_tokens > 0) second = CutSecond(second, rules);
    cut_before = pair->second.size() - second.size();
    read = {pair->first, second};
  } else {
    read = {WithPrompt(std::get<std::string_view>(input), rules.prompt)};
  }
  const bool cut = rules.too_long == EncodeRules::TooLong::kCut;
  EncodeOptions options;
  options.add_special_tokens = rules.specials == EncodeRules::Specials::kAdd;
  options.match_special_tokens = rules.special_text == EncodeRules::SpecialText::kMatch;
  options.truncation_side = rules.side;
  options.max_length = rules.max_tokens;
  if (cut) options.truncate = read.pair.has_value() ? rules.pair_cut : Truncate::kLongestFirst;
  const absl::StatusOr<Encoding> encoding = Encode(read, options, Columns::kOfRows);
  if (!encoding.ok()) return EncodeFailure(encoding.status(), index, rules);
  if (encoding->ids.size() > rules.max_tokens) return TooLongError(encoding->ids.size(), index, rules);
  if (encoding->ids.empty()) {
    std::string place = PlaceOf(index, rules);
    return ApiError{Fault::kEmptyInput, absl::StrCat("`", place, "`: no tokens, expected at least one"),
                    std::move(place)};
  }
  rows.ids.insert(rows.ids.end(), encoding->ids.begin(), encoding->ids.end());
  rows.type_ids.insert(rows.type_ids.end(), encoding->type_ids.begin(), encoding->type_ids.end());
  rows.cu_seqlens.push_back(static_cast<int32_t>(rows.ids.size()));
  rows.truncated += encoding->num_truncated > 0 || cut_before > 0 ? 1 : 0;
  Shrink();
  return std::nullopt;
}

std::optional<ApiError> RowEncoder::AppendTokens(const TokenRow& row, size_t index, const EncodeRules& rules,
                                                 EncodedRows& rows) {
  if (row.empty()) {
    std::string place = PlaceOf(index, rules);
    return ApiError{Fault::kEmptyInput, absl::StrCat("`", place, "`: no tokens, expected at least one"),
                    std::move(place)};
  }
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] >= 0 && row[i] < rules.vocab_size) continue;
    std::string place = PlaceOf(index, rules);
    return ApiError{
        Fault::kOutOfRange,
        absl::StrCat("`", Place(place, i), "`: token ", row[i], ", expected 0 to ", rules.vocab_size - 1),
        std::move(place)};
  }
  // What stays whatever is cut: specials that are there, or that are put there.
  const bool add = rules.specials == EncodeRules::Specials::kAdd;
  std::span<const TokenId> text = row;
  const bool begins = BeginsWith(text, begin_);
  if (begins) text = text.subspan(begin_.size());
  const bool ends = EndsWith(text, end_);
  if (ends) text = text.first(text.size() - end_.size());
  const size_t around = (begins || add ? begin_.size() : 0) + (ends || add ? end_.size() : 0);
  if (text.size() + around > rules.max_tokens) {
    if (rules.too_long == EncodeRules::TooLong::kRefuse)
      return TooLongError(text.size() + around, index, rules);
    const size_t room = rules.max_tokens - around;
    text = rules.side == Side::kRight ? text.first(room) : text.last(room);
    ++rows.truncated;
  }
  if (begins || add) rows.ids.insert(rows.ids.end(), begin_.begin(), begin_.end());
  rows.ids.insert(rows.ids.end(), text.begin(), text.end());
  if (ends || add) rows.ids.insert(rows.ids.end(), end_.begin(), end_.end());
  if (type_ids_ == model::TypeIds::kTemplate) rows.type_ids.resize(rows.ids.size());
  rows.cu_seqlens.push_back(static_cast<int32_t>(rows.ids.size()));
  return std::nullopt;
}

Result<RowEncoder::Tokens> RowEncoder::Tokenize(std::string_view text, size_t index,
                                                const EncodeRules& rules) {
  Shrink();
  const std::string_view all = WithPrompt(text, rules.prompt);
  EncodeOptions options;
  options.add_special_tokens = rules.specials == EncodeRules::Specials::kAdd;
  options.match_special_tokens = rules.special_text == EncodeRules::SpecialText::kMatch;
  const absl::StatusOr<Encoding> encoding = Encode({all}, options, Columns::kOfTokens);
  if (!encoding.ok()) return EncodeFailure(encoding.status(), index, rules);
  return Tokens{*encoding, all};
}

}  // namespace trellis::gateway
