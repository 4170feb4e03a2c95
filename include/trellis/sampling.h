// N-best and sampling: other ways to cut a text into pieces, for subword
// regularization. SentencePiece dialect only (a .model file).
//
// Whose truth: sentencepiece 0.2.3's NBestEncode, and SampleEncode of 0.2.1, the
// last version that draws with the standard library: one seed gives the same
// samples as there, and on every machine whose exp and log agree. (Exact ties of
// n-best ways can come in another order in 0.2.1.)
//
// Everything here allocates, in proportion to the text and to its ways.
#ifndef TRELLIS_SAMPLING_H_
#define TRELLIS_SAMPLING_H_

#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trellis/encoding.h"
#include "trellis/tokenizer.h"

namespace trellis {

// One way through a text: the text's own tokens, without a template's.
struct Segmentation {
  std::vector<TokenId> ids;
  std::vector<Offset> offsets;  // bytes of the text
  float score = 0.0F;
};

inline constexpr size_t kMostNBest = 1024;

// The `count` best ways by score, the sum of the pieces' scores, best first; fewer
// when there are no more. As in the reference count is taken for 1 to kMostNBest,
// and the one best way, which is Encode's, has score 0. Different ways can have
// the same ids: those of unknown characters are joined. Errors:
//   Unimplemented      a tokenizer of another dialect, or with added tokens;
//   ResourceExhausted  a text with too many ways.
absl::StatusOr<std::vector<Segmentation>> EncodeNBest(const Tokenizer& tokenizer, std::string_view text, size_t count);

struct SampleOptions {
  // Below 0: of all ways. 2 to 512: of so many best ones. 0 and 1: the best one.
  int nbest_size = -1;
  // A way's probability is in proportion to exp(alpha x its score): 0 makes all
  // equal, a large one takes the best nearly always.
  float alpha = 0.1F;
};

// Draws one way. Its score is the logarithm of its probability when it is drawn
// from all, and EncodeNBest's otherwise. Errors: EncodeNBest's; InvalidArgument
// (an nbest_size above 512, an alpha that is not a number).
absl::StatusOr<Segmentation> EncodeSample(const Tokenizer& tokenizer, std::string_view text,
                                          const SampleOptions& options, std::mt19937& random);

}  // namespace trellis

#endif  // TRELLIS_SAMPLING_H_
