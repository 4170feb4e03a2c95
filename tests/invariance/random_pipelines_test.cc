// Random pipelines on random texts: bounds, paths, shield and decoding, as pipeline_fuzz has them, from seeds.
// TRELLIS_TEXTS and TRELLIS_SEED as elsewhere here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/reference/pipeline_check.h"
#include "tests/reference/random_spec.h"
#include "trellis/spec.h"

namespace trellis {
namespace {

TEST(RandomPipelines, HoldWhatPipelinesMust) {
  const char* count = std::getenv("TRELLIS_TEXTS");
  const char* seed = std::getenv("TRELLIS_SEED");
  const int specs = count != nullptr ? std::atoi(count) / 40 : 1500;
  std::vector<double> scratch, tokens;
  int valid = 0;
  for (int n = 0; n < specs; ++n) {
    reference::Choices choices((seed != nullptr ? static_cast<uint32_t>(std::atol(seed)) : 1) * 1000003U +
                               static_cast<uint32_t>(n));
    reference::RandomSpec random(choices);
    const TokenizerSpec spec = random.Next();
    if (!ValidateSpec(spec).ok()) continue;
    ++valid;
    reference::PipelineCheck check(spec);
    for (int i = 0; i < 20; ++i) {
      const std::string text = random.Text(i < 18 ? 8 : 40);
      for (const bool shield : {false, true}) {
        const std::string fault = check.Fault(text, shield);
        ASSERT_EQ(fault, "") << "spec " << n << (shield ? ", shielded: " : ": ") << testing::PrintToString(text);
      }
    }
    scratch.push_back(check.most_scratch());
    tokens.push_back(check.most_tokens());
  }
  // Or the test would be worth little.
  EXPECT_GT(valid * 10, specs * 8);
  std::sort(scratch.begin(), scratch.end());
  std::sort(tokens.begin(), tokens.end());
  if (scratch.empty()) return;
  std::printf("%d pipelines; of ScratchBytes %.3f used in the median, %.3f at most; of MaxTokens %.3f and %.3f\n", valid,
              scratch[scratch.size() / 2], scratch.back(), tokens[tokens.size() / 2], tokens.back());
}

}  // namespace
}  // namespace trellis
