// Explanation: every stage of one text, for people (`trellis explain`). Cold.
#ifndef TRELLIS_INTERNAL_EXPLAIN_H_
#define TRELLIS_INTERNAL_EXPLAIN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trellis/tokenizer.h"

namespace trellis::internal {

struct Explanation {
  // What the added tokens cut the text into. Bytes of the text.
  struct Segment {
    size_t begin;
    size_t end;
    TokenId added_token;  // -1: plain text
    // Of plain segments: the normalized text, and where in the text each of its
    // bytes' character begins.
    std::string normalized;
    std::vector<uint32_t> source;
  };
  struct PreTokenRow {
    size_t segment;
    std::string text;
    size_t begin;  // bytes of the text
    size_t end;
  };
  struct PieceRow {
    size_t pre_token;
    std::string text;  // what the piece covers, normalized
    TokenId id;
    double score;
    size_t begin;  // bytes of the text
    size_t end;
  };
  std::vector<Segment> segments;
  std::vector<PreTokenRow> pre_tokens;
  std::vector<PieceRow> pieces;
  EncodedText tokens;
};

// The plain path, stage by stage; `tokens` is what Encode says (with whatever
// shortcuts are on), so that a disagreement can be seen. Errors: Encode's.
absl::StatusOr<Explanation> Explain(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options);

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_EXPLAIN_H_
