#include "serve/gateway/grpc_messages.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/server/grpc_wire.h"

namespace trellis::gateway {
namespace {

static_assert(std::endian::native == std::endian::little, "values are taken from the wire as they lie there");

v1::Pooling ToWire(engine::Pooling pooling) {
  switch (pooling) {
    case engine::Pooling::kModel:
      return v1::POOLING_MODEL;
    case engine::Pooling::kMean:
      return v1::POOLING_MEAN;
    case engine::Pooling::kCls:
      return v1::POOLING_CLS;
    case engine::Pooling::kLast:
      return v1::POOLING_LAST;
  }
  return v1::POOLING_MODEL;
}

server::Reply Odd(const std::string& what) {
  return {absl::InternalError("the replica's answer is odd: " + what), {}, {}};
}

// rows + 1 numbers from 0 to `total`, none less than the one before.
bool AreOffsets(const google::protobuf::RepeatedField<int32_t>& offsets, size_t rows, size_t total) {
  if (static_cast<size_t>(offsets.size()) != rows + 1 || offsets[0] != 0) return false;
  for (int i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) return false;
  }
  return static_cast<size_t>(offsets[offsets.size() - 1]) == total;
}

size_t ExpectedValues(const v1::RowTask& task, int32_t tokens, const server::RowReply& got,
                      const engine::EngineLimits& limits) {
  const auto dimensions = static_cast<size_t>(task.dimensions() > 0 ? task.dimensions() : limits.dimensions);
  switch (task.task()) {
    case v1::TASK_EMBED:
      return dimensions;
    case v1::TASK_EMBED_ALL:
      return dimensions * static_cast<size_t>(tokens);
    case v1::TASK_CLASSIFY:
      return static_cast<size_t>(limits.labels);
    default:
      return got.indices.size();
  }
}

}  // namespace

v1::InferRequest ToWire(const server::Request& request) {
  v1::InferRequest wire;
  wire.mutable_input_ids()->Add(request.ids.begin(), request.ids.end());
  wire.mutable_type_ids()->Add(request.type_ids.begin(), request.type_ids.end());
  wire.mutable_cu_seqlens()->Add(request.cu_seqlens.begin(), request.cu_seqlens.end());
  // A client's rows all want the same.
  const engine::RowTask& task = request.rows.front();
  v1::RowTask* const wanted = wire.add_tasks();
  wanted->set_task(server::ToWire(task.task));
  wanted->set_pooling(ToWire(task.pooling));
  wanted->set_normalize(task.normalize == engine::Normalize::kL2 ? v1::NORMALIZE_L2 : v1::NORMALIZE_NONE);
  wanted->set_dimensions(task.dimensions);
  wire.set_priority(request.priority == server::Priority::kBulk ? v1::PRIORITY_BULK
                                                                : v1::PRIORITY_INTERACTIVE);
  return wire;
}

server::Reply FromWire(const v1::InferReply& wire, size_t rows) {
  if (wire.values().size() % sizeof(float) != 0) return Odd("half a value");
  if (!AreOffsets(wire.value_offsets(), rows, wire.values().size() / sizeof(float)))
    return Odd("value_offsets do not fit its values or our rows");
  const bool sparse = !wire.index_offsets().empty();
  if (sparse && !AreOffsets(wire.index_offsets(), rows, static_cast<size_t>(wire.indices_size())))
    return Odd("index_offsets do not fit its indices or our rows");
  server::Reply reply;
  reply.rows.resize(rows);
  for (size_t r = 0; r < rows; ++r) {
    const int at = static_cast<int>(r);
    const auto begin = static_cast<size_t>(wire.value_offsets(at));
    std::vector<float>& values = reply.rows[r].values;
    values.resize(static_cast<size_t>(wire.value_offsets(at + 1)) - begin);
    if (!values.empty())
      std::memcpy(values.data(), wire.values().data() + begin * sizeof(float), values.size() * sizeof(float));
    if (sparse) {
      reply.rows[r].indices.assign(wire.indices().begin() + wire.index_offsets(at),
                                   wire.indices().begin() + wire.index_offsets(at + 1));
    }
  }
  for (const v1::RowFailure& failure : wire.failures()) {
    if (failure.row() < 0 || static_cast<size_t>(failure.row()) >= rows || failure.code() == 0)
      return Odd("a failure of no row of ours");
    reply.rows[static_cast<size_t>(failure.row())].status =
        absl::Status(static_cast<absl::StatusCode>(failure.code()), failure.message());
  }
  reply.timings.queue = std::chrono::nanoseconds(wire.timings().queue_ns());
  reply.timings.forward = std::chrono::nanoseconds(wire.timings().forward_ns());
  return reply;
}

void CheckRows(const v1::InferRequest& asked, const engine::EngineLimits& limits, server::Reply& reply) {
  for (size_t r = 0; r < reply.rows.size(); ++r) {
    server::RowReply& row = reply.rows[r];
    if (!row.status.ok()) continue;
    const int at = static_cast<int>(r);
    const size_t expected =
        ExpectedValues(asked.tasks(0), asked.cu_seqlens(at + 1) - asked.cu_seqlens(at), row, limits);
    if (row.values.size() != expected) {
      row.status = absl::InternalError(
          absl::StrCat("row ", r, ": the replica gave ", row.values.size(), " values, expected ", expected));
    } else if (!std::all_of(row.values.begin(), row.values.end(), [](float v) { return std::isfinite(v); })) {
      row.status = absl::DataLossError(absl::StrCat("row ", r, ": a value that is not finite"));
    }
  }
}

ReplicaModel FromWire(const v1::ModelDescription& wire) {
  ReplicaModel model;
  engine::EngineLimits& limits = model.limits;
  limits.model = wire.model();
  for (const int task : wire.tasks()) {
    if (task > v1::TASK_UNSPECIFIED && task <= engine::kTasks) limits.tasks[task - 1] = true;
  }
  limits.dimensions = wire.dimensions();
  limits.labels = wire.labels();
  limits.vocab_size = wire.vocab_size();
  limits.type_vocab_size = wire.type_vocab_size();
  limits.max_row_tokens = wire.max_row_tokens();
  limits.max_batch_tokens = model.max_batch_tokens = wire.max_batch_tokens();
  limits.max_batch_rows = wire.max_batch_rows();
  return model;
}

absl::Status FromGrpc(const grpc::Status& status) {
  // The codes have the same numbers.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace trellis::gateway
