// Rows for an engine, and what came of them.
#ifndef TRELLIS_TESTS_SERVE_ENGINE_CPU_BATCH_H_
#define TRELLIS_TESTS_SERVE_ENGINE_CPU_BATCH_H_

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/engine.h"

namespace trellis::engine {

using Ids = std::vector<int32_t>;

struct CpuBatch {
  Ids ids, type_ids, cu_seqlens{0};
  std::vector<RowTask> tasks;

  void Add(const Ids& row, RowTask task = {}, const Ids& types = {}) {
    ids.insert(ids.end(), row.begin(), row.end());
    if (!types.empty()) type_ids.resize(ids.size() - row.size());
    type_ids.insert(type_ids.end(), types.begin(), types.end());
    if (!type_ids.empty()) type_ids.resize(ids.size());
    cu_seqlens.push_back(static_cast<int32_t>(ids.size()));
    tasks.push_back(task);
  }
  PackedBatch view() const { return {ids, type_ids, cu_seqlens, tasks}; }
};

inline RowTask Raw(Task task, Pooling pooling = Pooling::kModel) {
  return {task, pooling, Normalize::kNone, 0};
}

inline Ids RandomIds(int size, int vocab, uint32_t seed) {
  std::mt19937 random(seed);
  Ids ids;
  for (int i = 0; i < size; ++i) ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocab)));
  return ids;
}

inline std::vector<std::vector<float>> ValuesOf(Engine& engine, const CpuBatch& batch) {
  std::vector<std::vector<float>> rows;
  auto result = engine.Step(batch.view());
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return rows;
  const absl::Status status = (*result)->Wait();
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok()) return rows;
  for (size_t i = 0; i < batch.tasks.size(); ++i) {
    const RowValues row = (*result)->row(i);
    EXPECT_EQ(row.status, absl::StatusCode::kOk);
    rows.emplace_back(row.values.begin(), row.values.end());
  }
  return rows;
}

}  // namespace trellis::engine

#endif  // TRELLIS_TESTS_SERVE_ENGINE_CPU_BATCH_H_
