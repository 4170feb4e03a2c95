// PostProcessor: the template around the texts, flattened at load (tokenizers
// 0.22.2, processors/template.rs).
#ifndef TRELLIS_INTERNAL_STAGE_POST_PROCESSOR_H_
#define TRELLIS_INTERNAL_STAGE_POST_PROCESSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "trellis/spec.h"

namespace trellis::internal {

// One step of a flattened template: one special token, or a whole text.
struct TemplateStep {
  enum class Kind : uint8_t { kSpecial, kFirst, kSecond };
  Kind kind;
  uint8_t type_id;
  TokenId id;  // of kSpecial
};

class PostProcessor {
 public:
  explicit PostProcessor(const PostProcessorTemplate& spec)
      : single_(Flatten(spec.single)), pair_(Flatten(spec.pair)), trim_offsets_(spec.trim_offsets) {}

  enum class Shape : uint8_t { kSingle, kPair };

  std::span<const TemplateStep> steps(Shape shape) const { return shape == Shape::kPair ? pair_ : single_; }

  TrimOffsets trim_offsets() const { return trim_offsets_; }

  // Special tokens that the template adds.
  size_t NumAdded(Shape shape) const {
    size_t count = 0;
    for (const TemplateStep& step : steps(shape)) count += step.kind == TemplateStep::Kind::kSpecial;
    return count;
  }
  // Most times a template repeats one text; 1 for all published ones.
  size_t MaxRepeats() const {
    size_t most = 1;
    for (const Shape shape : {Shape::kSingle, Shape::kPair}) {
      size_t first = 0, second = 0;
      for (const TemplateStep& step : steps(shape)) {
        first += step.kind == TemplateStep::Kind::kFirst;
        second += step.kind == TemplateStep::Kind::kSecond;
      }
      most = std::max({most, first, second});
    }
    return most;
  }

 private:
  static std::vector<TemplateStep> Flatten(const std::vector<TemplatePiece>& pieces) {
    std::vector<TemplateStep> steps;
    for (const TemplatePiece& piece : pieces) {
      if (const auto* text = std::get_if<TemplateSequence>(&piece)) {
        const auto kind = text->sequence == Sequence::kA ? TemplateStep::Kind::kFirst : TemplateStep::Kind::kSecond;
        steps.push_back({kind, text->type_id, 0});
      } else {
        const auto& special = std::get<TemplateSpecial>(piece);
        for (const TokenId id : special.ids) steps.push_back({TemplateStep::Kind::kSpecial, special.type_id, id});
      }
    }
    return steps;
  }

  std::vector<TemplateStep> single_;
  std::vector<TemplateStep> pair_;
  TrimOffsets trim_offsets_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_POST_PROCESSOR_H_
