// A linear layer of a head: in float, on rows that lie anywhere.
#ifndef TRELLIS_SERVE_ENGINE_CPU_DENSE_H_
#define TRELLIS_SERVE_ENGINE_CPU_DENSE_H_

#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/aligned.h"
#include "serve/engine/cpu/crew.h"
#include "serve/engine/cpu/linear.h"
#include "serve/engine/cpu/linear_reader.h"
#include "serve/engine/cpu/matmul.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cpu {

class Dense {
 public:
  // `matmuls` and `crew` outlive this.
  static absl::StatusOr<Dense> Create(const Weights& weights, const std::string& name, Bias bias, int in,
                                      int out, Matmuls& matmuls, Crew& crew);

  int out() const { return out_; }
  // `rows` is [any, in], the result [any, out]; valid until the next Run.
  std::span<float> Run(std::span<const float> rows);

 private:
  Dense(Linear linear, int in, int out, Crew& crew)
      : linear_(std::move(linear)), in_(in), out_(out), crew_(&crew) {}

  Linear linear_;
  int in_, out_;
  Crew* crew_;
  Aligned<float> input_, output_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_DENSE_H_
