#include "serve/engine/cuda/answers.h"

#include <map>

namespace trellis::engine::cuda {
namespace {

// The first ids of the vocabularies that have a sparse head: <s>, <pad>, </s>, <unk> carry no meaning of
// their own.
constexpr int32_t kSpecialTokens = 4;

std::span<const float> FloatsAt(std::span<const std::byte> pinned, size_t at, int64_t first, int64_t count) {
  return {reinterpret_cast<const float*>(pinned.data() + at) + first, static_cast<size_t>(count)};
}

// As the CPU engine has it: special tokens and what is not positive are left out, of equal ids the most
// counts, and what is no number is handed on.
RowAnswer SparseRow(std::span<const int32_t> ids, std::span<const float> weights) {
  std::map<int32_t, float> most;
  for (size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < kSpecialTokens || weights[t] <= 0) continue;
    float& weight = most[ids[t]];
    if (!(weight >= weights[t])) weight = weights[t];
  }
  RowAnswer answer;
  for (const auto& [id, weight] : most) {
    answer.indices.push_back(id);
    answer.values.push_back(weight);
  }
  return answer;
}

}  // namespace

void AnswerLayout::Place(int64_t rows, int64_t tokens) {
  size_t end = 0;
  const auto place = [&end](size_t& at, size_t size) {
    at = end;
    end = Aligned(end + size);
  };
  place(vectors, FloatBytes(rows, embed_size));
  place(logits, FloatBytes(rows, labels));
  place(weights, token_weights ? FloatBytes(tokens, 1) : 0);
  place(token_vectors, FloatBytes(tokens, token_size));
  bytes = end;
}

std::vector<RowAnswer> ReadAnswers(const AnswerLayout& layout, const PackedBatch& batch,
                                   std::span<const std::byte> pinned) {
  std::vector<RowAnswer> answers(batch.num_rows());
  for (size_t row = 0; row < answers.size(); ++row) {
    const RowTask& task = batch.rows[row];
    const auto index = static_cast<int64_t>(row);
    const int32_t begin = batch.cu_seqlens[row], tokens = batch.cu_seqlens[row + 1] - begin;
    std::vector<float>& values = answers[row].values;
    switch (task.task) {
      case Task::kEmbed: {
        const int32_t kept = task.dimensions > 0 ? task.dimensions : layout.embed_size;
        const auto vector = FloatsAt(pinned, layout.vectors, index * layout.embed_size, kept);
        values.assign(vector.begin(), vector.end());
        break;
      }
      case Task::kClassify: {
        const auto logits = FloatsAt(pinned, layout.logits, index * layout.labels, layout.labels);
        values.assign(logits.begin(), logits.end());
        break;
      }
      case Task::kEmbedAll: {
        const int32_t kept = task.dimensions > 0 ? task.dimensions : layout.token_size;
        values.reserve(static_cast<size_t>(tokens) * static_cast<size_t>(kept));
        for (int64_t t = begin; t < begin + tokens; ++t) {
          const auto vector = FloatsAt(pinned, layout.token_vectors, t * layout.token_size, kept);
          values.insert(values.end(), vector.begin(), vector.end());
        }
        break;
      }
      case Task::kSparse:
        answers[row] = SparseRow(batch.ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(tokens)),
                                 FloatsAt(pinned, layout.weights, begin, tokens));
        break;
    }
  }
  return answers;
}

}  // namespace trellis::engine::cuda
