// Any pipeline on any text: the first bytes make a spec (tests/reference/random_spec.h), the rest is the text. What must
// hold is in tests/reference/pipeline_check.h.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/pipeline_check.h"
#include "tests/reference/random_spec.h"
#include "trellis/trellis.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2048) return 0;
  trellis::reference::Choices choices(std::string_view(reinterpret_cast<const char*>(data), size));
  const trellis::TokenizerSpec spec = trellis::reference::RandomSpec(choices).Next();
  if (!trellis::ValidateSpec(spec).ok()) return 0;
  const bool shield = choices.Below(2) != 0;
  // Memory of its own, so that a read behind the end is seen.
  trellis::reference::PipelineCheck check(spec);
  const std::string_view text = check.Feasible(choices.rest());
  const std::vector<char> memory(text.begin(), text.end());
  const std::string fault = check.Fault({memory.data(), memory.size()}, shield);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "pipeline_fuzz: %s\n", fault.c_str());
  std::abort();
}
