#include "serve/engine/cuda/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/made_batch.h"

namespace trellis::engine::cuda {
namespace {

constexpr const char* kTaskNames[kTasks] = {"embed", "embed_all", "sparse", "classify"};
constexpr const char* kRounds[] = {"first run", "second run", "third run"};

// By place, or by id where there are ids: one that is close to 0 may be there in one and not in the other.
std::map<int64_t, double> ByPlace(const RowValues& row) {
  std::map<int64_t, double> values;
  for (size_t i = 0; i < row.values.size(); ++i) {
    values[row.indices.empty() ? static_cast<int64_t>(i) : row.indices[i]] = row.values[i];
  }
  return values;
}

absl::StatusOr<std::unique_ptr<LazyResult>> Run(Engine& engine, const MadeBatch& batch) {
  auto result = engine.Step(batch.view());
  if (!result.ok()) return result.status();
  if (auto status = (*result)->Wait(); !status.ok()) return status;
  return result;
}

absl::Status CompareBatch(Engine& engine, Engine& reference, const MadeBatch& batch, Difference& worst) {
  const auto expected = Run(reference, batch);
  if (!expected.ok()) return expected.status();
  for (int round = 0; round < static_cast<int>(std::size(kRounds)); ++round) {
    const auto got = Run(engine, batch);
    if (!got.ok()) return got.status();
    for (size_t row = 0; row < batch.rows.size(); ++row) {
      const RowTask& task = batch.rows[row];
      const double distance = DistanceOf(task, (*got)->row(row), (*expected)->row(row));
      if (std::isnan(worst.distance) || distance <= worst.distance) continue;
      worst = {distance,
               task.task,
               static_cast<int32_t>(row),
               static_cast<int32_t>(batch.rows.size()),
               batch.cu_seqlens[row + 1] - batch.cu_seqlens[row],
               round};
    }
  }
  return absl::OkStatus();
}

}  // namespace

double DistanceOf(const RowTask& task, const RowValues& got, const RowValues& expected) {
  std::map<int64_t, double> ours = ByPlace(got), theirs = ByPlace(expected);
  double product = 0, our_square = 0, their_square = 0, difference = 0;
  for (const auto& [place, value] : theirs) {
    const double other = ours.contains(place) ? ours[place] : 0;
    product += value * other;
    their_square += value * value;
    difference += (value - other) * (value - other);
    ours.erase(place);
    our_square += other * other;
  }
  for (const auto& [place, value] : ours) {
    our_square += value * value;
    difference += value * value;
  }
  const bool vectors = task.task == Task::kEmbed || task.task == Task::kEmbedAll;
  if (vectors && task.normalize == Normalize::kNone) {
    return 1 - product / std::sqrt(our_square * their_square);
  }
  // |a - b|^2 = 2 (1 - cosine) |a| |b| where the lengths are equal.
  return difference / (2 * std::max(1.0, their_square));
}

absl::StatusOr<Difference> CompareEngines(Engine& engine, Engine& reference,
                                          std::span<const int32_t> lengths) {
  const EngineLimits& limits = engine.limits();
  std::vector<int32_t> different;
  for (const int32_t length : lengths) different.push_back(std::min(length, limits.max_row_tokens));
  different.erase(std::unique(different.begin(), different.end()), different.end());
  Difference worst;
  worst.distance = -1;  // below what any row has
  const auto compare = [&](const MadeBatch& batch) {
    return batch.rows.empty() ? absl::OkStatus() : CompareBatch(engine, reference, batch, worst);
  };
  for (int i = 0; i < kTasks; ++i) {
    if (!limits.tasks[i]) continue;
    MadeBatch all;
    for (size_t row = 0; row < different.size(); ++row) {
      // What fits both engines: a model whose batches are short is compared in several.
      const auto most =
          static_cast<size_t>(std::min(limits.max_batch_tokens, reference.limits().max_batch_tokens));
      if (all.ids.size() + static_cast<size_t>(different[row]) > most ||
          all.rows.size() == static_cast<size_t>(limits.max_batch_rows)) {
        if (auto status = compare(all); !status.ok()) return status;
        all = {};
      }
      const RowTask task{static_cast<Task>(i), Pooling::kModel,
                         row % 2 == 0 ? Normalize::kNone : Normalize::kL2, 0};
      all.Add(different[row], task, limits, row);
      MadeBatch alone;
      alone.Add(different[row], task, limits, row);
      if (auto status = compare(alone); !status.ok()) return status;
    }
    if (auto status = compare(all); !status.ok()) return status;
  }
  return worst;
}

std::string Describe(const Difference& difference) {
  return absl::StrCat("row ", difference.row + 1, " of ", difference.rows, " (", difference.tokens,
                      " tokens, ", kTaskNames[static_cast<int>(difference.task)], ", ",
                      kRounds[difference.round], "): distance ", difference.distance);
}

absl::Status CheckDifference(const Difference& worst) {
  if (worst.distance <= kMostDistance) return absl::OkStatus();  // what is no number is not
  return absl::FailedPreconditionError(absl::StrCat("cuda engine: not what the CPU engine computes: ",
                                                    Describe(worst), ", expected at most ", kMostDistance,
                                                    "; on this GPU the model is not served, --device cpu (or "
                                                    "--engine cpu:FOLDER) runs it on the processor"));
}

}  // namespace trellis::engine::cuda
