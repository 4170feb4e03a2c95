// The timing protocol of trellis-bench for peers written in C++; the twin of ../hf/rounds.rs, which says why.
#ifndef TRELLIS_BENCH_PEERS_SENTENCEPIECE_ROUNDS_H_
#define TRELLIS_BENCH_PEERS_SENTENCEPIECE_ROUNDS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace peers {

// Puts the ids of one text into a vector that keeps its capacity between calls.
using Encode = std::function<void(std::string_view text, std::vector<int>& ids)>;

// Loads the model and returns its encoder; ends the program with a message when it cannot.
using Load = std::function<Encode(const std::string& model, std::string_view variant)>;

// Reads the command line, runs the mode, prints one JSON object a label. `variants` are the words that
// --variant takes, the first being the default. The ids that `--mode ids` prints are SentencePiece's own.
int Run(int argc, char** argv, const std::vector<std::string_view>& variants, const Load& load);

}  // namespace peers

#endif  // TRELLIS_BENCH_PEERS_SENTENCEPIECE_ROUNDS_H_
