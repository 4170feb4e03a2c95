// The contract of engine.h, and that a row's values depend on the row alone.
#include "serve/engine/cpu/cpu_engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serve/engine/cpu/model.h"
#include "tests/serve/engine/cpu_batch.h"
#include "tests/serve/engine/cpu_random_model.h"

namespace trellis::engine {
namespace {

std::unique_ptr<Engine> Open(const std::string& folder, cpu::Precision precision, int threads) {
  auto engine = OpenCpuEngine(CpuEngineOptions{folder, precision, threads});
  // Which fails the test, with these words.
  if (!engine.ok()) throw std::runtime_error(engine.status().ToString());
  return *std::move(engine);
}

class CpuEngine : public ::testing::TestWithParam<cpu::Precision> {
 protected:
  void SetUp() override {
    if (const auto status = cpu::Supports(GetParam()); !status.ok()) GTEST_SKIP() << "SKIPPED: " << status;
  }
  static void SetUpTestSuite() {
    model_ = new RandomModel();
    model_->Write();
  }
  static void TearDownTestSuite() {
    delete model_;
    model_ = nullptr;
  }
  std::unique_ptr<Engine> Open(int threads = 1) const {
    return engine::Open(model_->folder(), GetParam(), threads);
  }

  static inline RandomModel* model_ = nullptr;
};

constexpr int kVocab = RandomModel::kVocab, kLongest = RandomModel::kPositions;

TEST_P(CpuEngine, LimitsAreTheModels) {
  const auto engine = Open();
  const EngineLimits& limits = engine->limits();
  EXPECT_EQ(limits.max_row_tokens, kLongest);
  EXPECT_EQ(limits.vocab_size, kVocab);
  EXPECT_EQ(limits.type_vocab_size, 2);
  EXPECT_EQ(limits.dimensions, RandomModel::kHidden);
  EXPECT_EQ(limits.max_in_flight, 2);
  EXPECT_GE(limits.max_batch_tokens, limits.max_row_tokens);
  EXPECT_TRUE(limits.tasks[static_cast<int>(Task::kEmbed)]);
  EXPECT_TRUE(limits.tasks[static_cast<int>(Task::kEmbedAll)]);
  EXPECT_FALSE(limits.tasks[static_cast<int>(Task::kSparse)]);
  EXPECT_FALSE(limits.tasks[static_cast<int>(Task::kClassify)]);
}

// Bit for bit: alone, with neighbours, in any place. Another number of threads cuts the products differently,
// so that the last bits of a sum may differ.
TEST_P(CpuEngine, ARowsValuesDependOnTheRowAlone) {
  const auto engine = Open(1), threaded = Open(3);
  CpuBatch batch;
  std::vector<std::pair<Ids, RowTask>> rows;
  const int sizes[] = {1,   1,   2,        7, 16, 17, 40, 63,  128, 200,
                       511, 512, kLongest, 3, 90, 33, 5,  480, 1,   kLongest};
  for (const int size : sizes) {
    const auto seed = static_cast<uint32_t>(rows.size() + 1);
    const Task task = seed % 3 == 0 ? Task::kEmbedAll : Task::kEmbed;
    rows.emplace_back(RandomIds(size, kVocab, seed),
                      Raw(task, seed % 2 == 0 ? Pooling::kCls : Pooling::kMean));
    batch.Add(rows.back().first, rows.back().second);
  }
  CpuBatch reversed;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) reversed.Add(row->first, row->second);

  const auto together = ValuesOf(*engine, batch);
  auto backwards = ValuesOf(*engine, reversed);
  std::reverse(backwards.begin(), backwards.end());
  const auto by_three = ValuesOf(*threaded, batch);
  ASSERT_EQ(together.size(), rows.size());
  ASSERT_EQ(by_three.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    CpuBatch alone;
    alone.Add(rows[i].first, rows[i].second);
    EXPECT_EQ(ValuesOf(*engine, alone).front(), together[i]) << "alone, row " << i;
    EXPECT_EQ(backwards[i], together[i]) << "backwards, row " << i;
    ASSERT_EQ(by_three[i].size(), together[i].size());
    for (size_t j = 0; j < together[i].size(); ++j) {
      const double bound = GetParam() == cpu::Precision::kF32 ? 1e-5 : 0.1;
      ASSERT_NEAR(double{by_three[i][j]}, double{together[i][j]}, bound) << "three threads, row " << i;
    }
    for (const float value : together[i]) ASSERT_TRUE(std::isfinite(value));
  }
  EXPECT_NE(together[0], together[1]);  // not all the same for another reason
}

TEST_P(CpuEngine, IdsTypesAndOrderMatter) {
  const auto engine = Open();
  CpuBatch batch;
  batch.Add({5, 6, 7}, Raw(Task::kEmbed));
  batch.Add({7, 6, 5}, Raw(Task::kEmbed));
  batch.Add({5, 6, 7}, Raw(Task::kEmbed), {0, 1, 1});
  batch.Add({5, 6, 7}, Raw(Task::kEmbed), {0, 0, 0});
  const auto values = ValuesOf(*engine, batch);
  EXPECT_NE(values[0], values[1]);
  EXPECT_NE(values[0], values[2]);
  EXPECT_EQ(values[0], values[3]);
}

TEST_P(CpuEngine, PoolingCutAndLength) {
  const auto engine = Open();
  const Ids ids = RandomIds(9, kVocab, 3);
  CpuBatch batch;
  batch.Add(ids, Raw(Task::kEmbedAll));
  for (const Pooling pooling : {Pooling::kModel, Pooling::kMean, Pooling::kCls, Pooling::kLast}) {
    batch.Add(ids, Raw(Task::kEmbed, pooling));
  }
  batch.Add(ids, RowTask{Task::kEmbed, Pooling::kCls, Normalize::kL2, 10});
  batch.Add(ids, RowTask{Task::kEmbedAll, Pooling::kModel, Normalize::kL2, 10});
  const auto values = ValuesOf(*engine, batch);
  constexpr size_t kSize = RandomModel::kHidden;
  const std::vector<float>& all = values[0];
  ASSERT_EQ(all.size(), 9 * kSize);
  EXPECT_EQ(values[1], values[2]);  // without modules.json the mean
  for (size_t i = 0; i < kSize; ++i) {
    double mean = 0;
    for (size_t t = 0; t < 9; ++t) mean += double{all[t * kSize + i]} / 9;
    EXPECT_NEAR(double{values[2][i]}, mean, 1e-6);
    EXPECT_EQ(values[3][i], all[i]);
    EXPECT_EQ(values[4][i], all[8 * kSize + i]);
  }
  ASSERT_EQ(values[5].size(), 10u);
  ASSERT_EQ(values[6].size(), 90u);
  for (size_t t = 0; t < 9; ++t) {
    double length = 0;
    for (size_t i = 0; i < 10; ++i) length += double{all[t * kSize + i]} * double{all[t * kSize + i]};
    for (size_t i = 0; i < 10; ++i) {
      const double expected = double{all[t * kSize + i]} / std::sqrt(length);
      EXPECT_NEAR(double{values[6][t * 10 + i]}, expected, 1e-6);
      if (t == 0) {
        EXPECT_NEAR(double{values[5][i]}, expected, 1e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, CpuEngine,
                         ::testing::Values(cpu::Precision::kF32, cpu::Precision::kBf16, cpu::Precision::kInt8),
                         [](const auto& tested) { return std::string(NameOf(tested.param)); });

class CpuEngineContract : public ::testing::Test {
 protected:
  CpuEngineContract() { model_.Write(); }
  RandomModel model_;
};

TEST_F(CpuEngineContract, TwoMayBeInFlightNotThree) {
  const auto engine = Open(model_.folder(), cpu::Precision::kF32, 1);
  CpuBatch long_one, short_one;
  for (int i = 0; i < 8; ++i) long_one.Add(RandomIds(kLongest, kVocab, static_cast<uint32_t>(i)));
  short_one.Add({1, 2, 3});
  const auto expected = ValuesOf(*engine, short_one);
  auto first = engine->Step(long_one.view());
  auto second = engine->Step(short_one.view());
  ASSERT_TRUE(first.ok() && second.ok());
  auto third = engine->Step(short_one.view());
  // The long one takes far longer than two calls; were it done all the same, the third would be welcome.
  if (!third.ok()) {
    EXPECT_EQ(third.status().code(), absl::StatusCode::kFailedPrecondition) << third.status();
  }
  ASSERT_TRUE((*second)->Wait().ok());
  EXPECT_TRUE((*first)->Ready());  // in order
  EXPECT_TRUE((*first)->Wait().ok());
  EXPECT_TRUE((*first)->Wait().ok());  // again
  const auto values = (*second)->row(0).values;
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), expected[0]);
  EXPECT_TRUE(engine->Step(short_one.view()).ok());
}

TEST_F(CpuEngineContract, MemoryMayBeUsedAgainAfterWaitOrDestruction) {
  const auto engine = Open(model_.folder(), cpu::Precision::kF32, 2);
  for (int round = 0; round < 20; ++round) {
    // AddressSanitizer sees it if anybody reads the batch after its result is gone.
    auto batch = std::make_unique<CpuBatch>();
    for (int i = 0; i < 3; ++i) batch->Add(RandomIds(60, kVocab, static_cast<uint32_t>(round)));
    auto other = std::make_unique<CpuBatch>(*batch);
    auto first = engine->Step(batch->view());
    auto second = engine->Step(other->view());
    ASSERT_TRUE(first.ok() && second.ok());
    if (round % 2 == 0) {
      second->reset();  // unfinished, perhaps not begun
      std::fill(other->ids.begin(), other->ids.end(), -1);
      other.reset();
    }
    ASSERT_TRUE((*first)->Wait().ok());
    std::fill(batch->ids.begin(), batch->ids.end(), -1);
    batch.reset();
    const auto a = (*first)->row(0).values, b = (*first)->row(2).values;
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    second->reset();
  }
}

TEST_F(CpuEngineContract, ResultsMayOutliveTheEngine) {
  auto engine = Open(model_.folder(), cpu::Precision::kF32, 1);
  CpuBatch batch;
  batch.Add(RandomIds(100, kVocab, 1));
  const auto expected = ValuesOf(*engine, batch);
  auto result = engine->Step(batch.view());
  ASSERT_TRUE(result.ok());
  engine.reset();
  EXPECT_TRUE((*result)->Ready());
  ASSERT_TRUE((*result)->Wait().ok());
  const auto values = (*result)->row(0).values;
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), expected[0]);
}

TEST_F(CpuEngineContract, BatchesThatAreNoneAreRefusedByName) {
  const auto engine = Open(model_.folder(), cpu::Precision::kF32, 1);
  const auto refusal = [&](const Ids& ids, RowTask task) {
    CpuBatch batch;
    batch.Add(ids, task);
    const auto result = engine->Step(batch.view());
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  EXPECT_NE(refusal({5, kVocab}, {}).find(absl::StrCat("ids[1]: ", kVocab)), std::string::npos);
  EXPECT_NE(refusal({-1}, {}).find("ids[0]: -1"), std::string::npos);
  EXPECT_NE(refusal({1}, Raw(Task::kClassify)).find("rows[0].task"), std::string::npos);
  EXPECT_NE(refusal(Ids(kLongest + 1, 1), {}), "");
}

TEST_F(CpuEngineContract, MissingWeightsAreNamed) {
  model_.Remove("encoder.layer.0.attention.self.key.bias");
  const auto engine = OpenCpuEngine(CpuEngineOptions{model_.Write(), cpu::Precision::kF32, 1});
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find("tensor encoder.layer.0.attention.self.key.bias: missing"),
            absl::string_view::npos)
      << engine.status();
}

TEST_F(CpuEngineContract, WeightsThatAreNotFiniteAreNamed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::string> names = model_.names();
  ASSERT_GT(names.size(), 30u);
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  for (size_t i = 0; i < names.size(); ++i) {
    model_.SetFirst(names[i], odd[i % 3]);
    const auto engine = OpenCpuEngine(CpuEngineOptions{model_.Write(), cpu::Precision::kF32, 1});
    ASSERT_FALSE(engine.ok()) << names[i];
    EXPECT_EQ(engine.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(engine.status().message().find(
                  absl::StrCat("tensor ", names[i], ": element 0 is no finite number, expected all to be")),
              absl::string_view::npos)
        << engine.status();
    model_.SetFirst(names[i], 0.5f);
  }
  EXPECT_TRUE(OpenCpuEngine(CpuEngineOptions{model_.Write(), cpu::Precision::kF32, 1}).ok());
}

// Finite weights, whose sum overflows where they meet.
TEST_F(CpuEngineContract, ValuesThatAreNotFiniteShowInTheirRowsAlone) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  model_.SetFirst("embeddings.word_embeddings.weight", kLargest);
  model_.SetFirst("embeddings.token_type_embeddings.weight", kLargest);
  model_.Write();
  for (const cpu::Precision precision :
       {cpu::Precision::kF32, cpu::Precision::kBf16, cpu::Precision::kInt8}) {
    if (!cpu::Supports(precision).ok()) continue;
    const auto engine = Open(model_.folder(), precision, 1);
    CpuBatch batch;
    batch.Add({7, 8}, {}, {1, 1});
    batch.Add({7, 0, 8}, {}, {1, 0, 1});
    batch.Add({7, 8}, {}, {1, 1});
    const auto values = ValuesOf(*engine, batch);
    EXPECT_TRUE(std::isfinite(values[0][0]));
    EXPECT_TRUE(std::isnan(values[1][0])) << NameOf(precision);
    EXPECT_EQ(values[2], values[0]);
  }
}

TEST_F(CpuEngineContract, NothingIsMadeOnceTheShapesHaveBeenSeen) {
  const auto config = ReadModelConfig(model_.folder());
  ASSERT_TRUE(config.ok()) << config.status();
  auto weights = Weights::Open(model_.folder());
  ASSERT_TRUE(weights.ok());
  auto model = cpu::Model::Create(*config, *std::move(weights), {}, cpu::Precision::kF32, 1);
  ASSERT_TRUE(model.ok()) << model.status();
  CpuBatch batch;
  for (const int size : {30, 200, 512, 17}) batch.Add(RandomIds(size, kVocab, 1));
  (*model)->Run(batch.view());
  const int made = (*model)->products_made();
  // With AVX-512 they are all our own, and none is made at run time.
  EXPECT_TRUE(made > 0 || cpu::BestIsa() == cpu::Isa::kAvx512);
  for (int i = 0; i < 3; ++i) (*model)->Run(batch.view());
  EXPECT_EQ((*model)->products_made(), made);
}

}  // namespace
}  // namespace trellis::engine
