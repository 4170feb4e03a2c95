// The committed tiny models of each family and head against what transformers says of them, in float32.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "serve/engine/cpu/pooling.h"
#include "simdjson.h"
#include "tests/serve/engine/cpu_batch.h"

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

std::vector<float> Flat(simdjson::dom::element element) {
  std::vector<float> values;
  if (!element.is_array()) return {static_cast<float>(element.get_double().value())};
  for (const auto part : element.get_array()) {
    const std::vector<float> inner = Flat(part);
    values.insert(values.end(), inner.begin(), inner.end());
  }
  return values;
}
Ids IdsOf(simdjson::dom::element element) {
  Ids ids;
  for (const auto id : element.get_array()) ids.push_back(static_cast<int32_t>(id.get_int64().value()));
  return ids;
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

class CpuModels : public testing::TestWithParam<std::string> {};

TEST_P(CpuModels, AreWhatTheReferenceSays) {
  const std::string folder = TRELLIS_SOURCE_DIR "/tests/serve/models/" + GetParam();
  simdjson::dom::parser parser;
  const simdjson::dom::element reference = parser.load(folder + "/reference.json");
  const auto config = ReadModelConfig(folder);
  ASSERT_TRUE(config.ok()) << config.status();
  for (const int threads : {1, 2}) {
    auto engine = OpenCpuEngine(CpuEngineOptions{folder, cpu::Precision::kF32, threads});
    ASSERT_TRUE(engine.ok()) << engine.status();
    CpuBatch batch;
    std::vector<Expectation> expectations;
    for (const auto row : reference["rows"].get_array()) {
      const Ids ids = IdsOf(row["ids"]);
      Ids types;
      if (simdjson::dom::element type_ids; row["type_ids"].get(type_ids) == simdjson::SUCCESS)
        types = IdsOf(type_ids);
      const auto expect = [&](const char* key, RowTask task, size_t skipped = 0) {
        simdjson::dom::element values;
        if (row[key].get(values) != simdjson::SUCCESS) return;
        Expectation expected{key, {}, {}, skipped};
        if (task.task == Task::kSparse) {
          std::map<int32_t, float> weights;
          for (const auto pair : values.get_array()) {
            weights[static_cast<int32_t>(pair.at(0).get_int64().value())] =
                static_cast<float>(pair.at(1).get_double().value());
          }
          for (const auto& [id, weight] : weights) {
            expected.indices.push_back(id);
            expected.values.push_back(weight);
          }
        } else {
          expected.values = Flat(values);
          // What the folder itself says comes last, whatever the pooling.
          if (task.task == Task::kEmbed && config->normalize == Normalize::kL2)
            cpu::ScaleToOne(expected.values);
        }
        batch.Add(ids, task, types);
        expectations.push_back(std::move(expected));
      };
      if ((*engine)->limits().tasks[static_cast<int>(Task::kEmbedAll)] && !config->colbert_head) {
        expect("hidden", Raw(Task::kEmbedAll));
      }
      if (config->dense.empty()) {
        expect("mean", Raw(Task::kEmbed, Pooling::kMean));
        expect("cls", Raw(Task::kEmbed, Pooling::kCls));
        expect("last", Raw(Task::kEmbed, Pooling::kLast));
      }
      expect("embedding", Raw(Task::kEmbed));
      expect("logits", Raw(Task::kClassify));
      expect("sparse", Raw(Task::kSparse));
      const auto width = static_cast<size_t>((*engine)->limits().dimensions);
      expect("colbert", RowTask{Task::kEmbedAll, Pooling::kModel, Normalize::kL2, 0}, width);
    }
    ASSERT_GT(expectations.size(), 0u);
    Check(**engine, batch, expectations, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, CpuModels, testing::ValuesIn(TinyModels()), [](const auto& tested) {
  std::string name = tested.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace trellis::engine
