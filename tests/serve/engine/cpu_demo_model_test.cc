// The demo model (tools/fetch_model) against vectors that torch computed in float32: TRELLIS_CASES names the
// folder with embeddings_e5_small.jsonl, TRELLIS_MODEL the model's if it is elsewhere. Skipped, and
// said so, without them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "simdjson.h"
#include "tests/serve/engine/cpu_batch.h"

namespace trellis::engine {
namespace {

struct Bound {
  cpu::Precision precision;
  double cosine;   // at least
  double element;  // of vectors of length 1, at most
};
constexpr Bound kBounds[] = {{cpu::Precision::kF32, 0.999999, 1e-6},
                             {cpu::Precision::kBf16, 0.9999, 3e-3},
                             {cpu::Precision::kInt8, 0.998, 1.5e-2}};

std::vector<float> Floats(std::string_view base64) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(absl::string_view(base64.data(), base64.size()), &bytes));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(values.data()));
  return values;
}

std::string DemoModel() {
  const char* const elsewhere = std::getenv("TRELLIS_MODEL");
  return elsewhere != nullptr ? elsewhere : TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
}

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

class CpuDemoModel : public testing::TestWithParam<Bound> {};

TEST_P(CpuDemoModel, VectorsAreTheReferences) {
  const char* const cases = std::getenv("TRELLIS_CASES");
  const std::string folder = DemoModel();
  if (cases == nullptr || !std::filesystem::exists(folder + "/model.safetensors")) {
    GTEST_SKIP() << "SKIPPED: TRELLIS_CASES is not set, or there is no " << folder
                 << "/model.safetensors: the demo model's vectors are NOT tested";
  }
  if (const auto status = cpu::Supports(GetParam().precision); !status.ok())
    GTEST_SKIP() << "SKIPPED: " << status;
  auto engine = OpenCpuEngine(CpuEngineOptions{folder, GetParam().precision, 1});
  ASSERT_TRUE(engine.ok()) << engine.status();
  std::ifstream file(std::string(cases) + "/embeddings_e5_small.jsonl");
  simdjson::dom::parser parser;
  CpuBatch batch;
  std::vector<std::vector<float>> expected;
  for (std::string line; std::getline(file, line);) {
    const simdjson::dom::element one = parser.parse(line);
    Ids ids;
    for (const auto id : one["ids"].get_array()) ids.push_back(static_cast<int32_t>(id.get_int64().value()));
    for (const auto& [key, pooling] : {std::pair{"mean_b64", Pooling::kMean}, {"cls_b64", Pooling::kCls}}) {
      batch.Add(ids, RowTask{Task::kEmbed, pooling, Normalize::kL2, 0});
      expected.push_back(Floats(one[key].get_string().value()));
    }
  }
  ASSERT_GT(expected.size(), 10u) << cases << "/embeddings_e5_small.jsonl";
  const auto values = ValuesOf(**engine, batch);
  ASSERT_EQ(values.size(), expected.size());
  double least = 2, most = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i].size(), expected[i].size());
    least = std::min(least, Dot(values[i], expected[i]) /
                                std::sqrt(Dot(values[i], values[i]) * Dot(expected[i], expected[i])));
    for (size_t j = 0; j < values[i].size(); ++j) {
      most = std::max(most, std::abs(double{values[i][j]} - double{expected[i][j]}));
    }
  }
  EXPECT_GE(least, GetParam().cosine);
  EXPECT_LE(most, GetParam().element);
  std::printf("%s: cosine at least %.8f, values within %.2e\n",
              std::string(NameOf(GetParam().precision)).c_str(), least, most);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CpuDemoModel, testing::ValuesIn(kBounds),
                         [](const auto& tested) { return std::string(NameOf(tested.param.precision)); });

}  // namespace
}  // namespace trellis::engine
