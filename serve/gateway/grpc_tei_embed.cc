// tei.v1.Embed: a text's vector, its tokens' vectors, its tokens' weights.
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/gateway/grpc_tei_message.h"
#include "serve/gateway/grpc_tei_methods.h"
#include "serve/gateway/request_fields.h"
#include "serve/gateway/tei_embed.h"

namespace trellis::gateway {
namespace {

// The fields that the three messages share. The row is a view of the message.
template <typename Request>
Result<RowWork> PlanText(const Request& request, const ServedModel& model, const engine::RowTask& task,
                         std::string_view wanted) {
  if (!model.Does(task.task)) return Unsupported(model, wanted);
  if (auto wrong = CheckText(request.inputs(), "inputs")) return *std::move(wrong);
  RowWork work;
  work.inputs.emplace_back(std::string_view(request.inputs()));
  work.rules = PlainRules(model, "inputs");
  if (auto wrong = SetCut(request, work.rules)) return *std::move(wrong);
  if (auto wrong = SetPrompt(request, model, work.rules)) return *std::move(wrong);
  work.task = task;
  return work;
}

}  // namespace

Result<RoutePlan> PlanGrpcEmbed(const grpc::ByteBuffer& message, const ServedModel& model, RowEncoder&) {
  const auto request = ReadMessage<tei::v1::EmbedRequest>(message);
  if (!request.ok()) return request.error();
  Result<RowWork> work = PlanText(
      **request, model, {.task = engine::Task::kEmbed, .pooling = model.policy.pooling}, "embeds texts");
  if (!work.ok()) return work.error();
  if ((*request)->has_normalize() && !(*request)->normalize())
    work->task.normalize = engine::Normalize::kNone;
  if ((*request)->has_dimensions()) {
    const uint32_t dimensions = (*request)->dimensions();
    if (dimensions < 1 || dimensions > static_cast<uint32_t>(model.engine.dimensions)) {
      return WrongField(Fault::kOutOfRange, "dimensions",
                        absl::StrCat(dimensions, ", expected 1 to ", model.engine.dimensions));
    }
    work->task.dimensions = static_cast<int32_t>(dimensions);
  }
  work->write = [kept = *request](const ComputedRows& rows) {
    tei::v1::EmbedResponse answer;
    answer.mutable_embeddings()->Add(rows.values(0).begin(), rows.values(0).end());
    return AnswerBytes(answer, rows.costs);
  };
  return RoutePlan(*std::move(work));
}

Result<RoutePlan> PlanGrpcEmbedAll(const grpc::ByteBuffer& message, const ServedModel& model, RowEncoder&) {
  const auto request = ReadMessage<tei::v1::EmbedAllRequest>(message);
  if (!request.ok()) return request.error();
  Result<RowWork> work = PlanText(**request, model, TokenVectorsTask(model), "gives a vector a token");
  if (!work.ok()) return work.error();
  work->write = [kept = *request](const ComputedRows& rows) {
    tei::v1::EmbedAllResponse answer;
    const auto tokens = static_cast<size_t>(rows.tokens());
    const size_t width = rows.values(0).size() / tokens;
    answer.mutable_token_embeddings()->Reserve(static_cast<int>(tokens));
    for (size_t t = 0; t < tokens; ++t) {
      const auto vector = rows.values(0).subspan(t * width, width);
      answer.add_token_embeddings()->mutable_embeddings()->Add(vector.begin(), vector.end());
    }
    return AnswerBytes(answer, rows.costs);
  };
  return RoutePlan(*std::move(work));
}

Result<RoutePlan> PlanGrpcEmbedSparse(const grpc::ByteBuffer& message, const ServedModel& model,
                                      RowEncoder&) {
  const auto request = ReadMessage<tei::v1::EmbedSparseRequest>(message);
  if (!request.ok()) return request.error();
  Result<RowWork> work =
      PlanText(**request, model, {.task = engine::Task::kSparse}, "gives weights of tokens");
  if (!work.ok()) return work.error();
  work->write = [kept = *request](const ComputedRows& rows) {
    tei::v1::EmbedSparseResponse answer;
    const server::RowReply& row = rows.replies[0];
    for (size_t i = 0; i < row.indices.size(); ++i) {
      tei::v1::SparseValue& weight = *answer.add_sparse_embeddings();
      weight.set_index(static_cast<uint32_t>(row.indices[i]));
      weight.set_value(row.values[i]);
    }
    return AnswerBytes(answer, rows.costs);
  };
  return RoutePlan(*std::move(work));
}

}  // namespace trellis::gateway
