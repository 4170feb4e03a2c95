// The committed tiny models of each family and head against what transformers says of them, in float32.
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "tests/serve/engine/cpu_batch.h"
#include "tests/serve/model_reference.h"

namespace trellis::engine {
namespace {

constexpr double kBound = 1e-5;

std::vector<std::string> TinyModels() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TRELLIS_SOURCE_DIR "/tests/serve/models")) {
    if (std::filesystem::exists(entry.path() / "reference.json"))
      names.push_back(entry.path().filename().string());
  }
  return names;
}

// In double, by itself: the reference's arithmetic, not the engine's.
void ScaleToOne(std::vector<float>& vector) {
  double squares = 0;
  for (const float value : vector) squares += double{value} * double{value};
  for (float& value : vector) value = static_cast<float>(double{value} / std::sqrt(squares));
}

struct Expectation {  // of the row of the same number
  std::string what;
  std::vector<float> values;
  Ids indices;
  size_t skipped = 0;  // values at the start that the reference leaves out
};

// In as many batches as the engine's limits ask for.
void Check(Engine& engine, const CpuBatch& batch, const std::vector<Expectation>& expectations,
           const std::string& name) {
  const int32_t most = engine.limits().max_batch_tokens;
  const PackedBatch all = batch.view();
  for (size_t first = 0, last; first < expectations.size(); first = last) {
    last = first + 1;
    while (last < expectations.size() && all.cu_seqlens[last + 1] - all.cu_seqlens[first] <= most) ++last;
    const auto begin = static_cast<size_t>(all.cu_seqlens[first]);
    const size_t tokens = static_cast<size_t>(all.cu_seqlens[last]) - begin;
    std::vector<int32_t> starts;
    for (size_t i = first; i <= last; ++i) starts.push_back(all.cu_seqlens[i] - all.cu_seqlens[first]);
    const auto types = all.type_ids.empty() ? all.type_ids : all.type_ids.subspan(begin, tokens);
    auto result =
        engine.Step({all.ids.subspan(begin, tokens), types, starts, all.rows.subspan(first, last - first)});
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE((*result)->Wait().ok());
    for (size_t i = first; i < last; ++i) {
      const Expectation& expected = expectations[i];
      const RowValues row = (*result)->row(i - first);
      const std::string where = name + ", row " + std::to_string(i) + ", " + expected.what;
      ASSERT_EQ(row.values.size(), expected.values.size() + expected.skipped) << where;
      EXPECT_EQ(Ids(row.indices.begin(), row.indices.end()), expected.indices) << where;
      for (size_t j = 0; j < expected.values.size(); ++j) {
        ASSERT_NEAR(double{row.values[j + expected.skipped]}, double{expected.values[j]}, kBound)
            << where << " " << j;
      }
    }
  }
}

class CpuModels : public ::testing::TestWithParam<std::string> {};

TEST_P(CpuModels, AreWhatTheReferenceSays) {
  const std::string folder = trellis::testing::TinyModel(GetParam());
  const auto reference = trellis::testing::ReferenceRows(GetParam());
  ASSERT_GE(reference.size(), 9u);
  const auto config = ReadModelConfig(folder);
  ASSERT_TRUE(config.ok()) << config.status();
  for (const int threads : {1, 2}) {
    auto engine = OpenCpuEngine(CpuEngineOptions{folder, cpu::Precision::kF32, threads});
    ASSERT_TRUE(engine.ok()) << engine.status();
    CpuBatch batch;
    std::vector<Expectation> expectations;
    for (const trellis::testing::ReferenceRow& row : reference) {
      enum class Step { kAsItStands, kScaled };
      const auto expect = [&](const char* key, RowTask task, Step step = Step::kAsItStands,
                              size_t skipped = 0) {
        const auto answer = row.answers.find(key);
        if (answer == row.answers.end()) return;
        Expectation expected{key, answer->second, {}, skipped};
        if (task.task == Task::kSparse) expected.indices = row.sparse_ids;
        if (step == Step::kScaled) ScaleToOne(expected.values);
        batch.Add(row.ids, task, row.type_ids);
        expectations.push_back(std::move(expected));
      };
      if ((*engine)->limits().tasks[static_cast<int>(Task::kEmbedAll)] && !config->colbert_head) {
        expect("hidden", Raw(Task::kEmbedAll));
      }
      // The reference's poolings are those of the hidden states and nothing else. The engine always goes the
      // folder's whole way from there: through Dense, which leaves nothing to compare here, and Normalize.
      const std::pair<const char*, Pooling> poolings[] = {
          {"mean", Pooling::kMean}, {"cls", Pooling::kCls}, {"last", Pooling::kLast}};
      for (const auto& [key, pooling] : poolings) {
        if (!config->dense.empty()) continue;
        if (config->normalize == Normalize::kNone) expect(key, Raw(Task::kEmbed, pooling));
        if (config->normalize == Normalize::kL2) expect(key, Raw(Task::kEmbed, pooling), Step::kScaled);
        expect(key, RowTask{Task::kEmbed, pooling, Normalize::kL2, 0}, Step::kScaled);
      }
      // The folder's whole way in sentence-transformers: with Normalize where the folder has it.
      expect("embedding", Raw(Task::kEmbed));
      expect("logits", Raw(Task::kClassify));
      expect("sparse", Raw(Task::kSparse));
      const auto width = static_cast<size_t>((*engine)->limits().dimensions);
      expect("colbert", RowTask{Task::kEmbedAll, Pooling::kModel, Normalize::kL2, 0}, Step::kAsItStands,
             width);
    }
    ASSERT_GT(expectations.size(), 0u);
    Check(**engine, batch, expectations, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, CpuModels, ::testing::ValuesIn(TinyModels()), [](const auto& tested) {
  std::string name = tested.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace trellis::engine
