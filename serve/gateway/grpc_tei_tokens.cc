// tei.v1.Tokenize and tei.v1.Info: what needs no engine.
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/gateway/grpc_tei_message.h"
#include "serve/gateway/grpc_tei_methods.h"
#include "serve/gateway/json_body.h"
#include "serve/gateway/utf8_text.h"

namespace trellis::gateway {

Result<RoutePlan> PlanGrpcTokenize(const grpc::ByteBuffer& message, const ServedModel& model,
                                   RowEncoder& encoder) {
  const auto request = ReadMessage<tei::v1::EncodeRequest>(message);
  if (!request.ok()) return request.error();
  if (auto wrong = CheckText((*request)->inputs(), "inputs")) return *std::move(wrong);
  EncodeRules rules = PlainRules(model, "inputs");
  if (auto wrong = SetPrompt(**request, model, rules)) return *std::move(wrong);
  if (!(*request)->add_special_tokens()) rules.specials = EncodeRules::Specials::kLeave;
  const Result<RowEncoder::Tokens> tokens = encoder.Tokenize((*request)->inputs(), 0, rules);
  if (!tokens.ok()) return tokens.error();
  const Encoding& encoding = tokens->encoding;
  tei::v1::EncodeResponse answer;
  answer.mutable_tokens()->Reserve(static_cast<int>(encoding.ids.size()));
  for (size_t t = 0; t < encoding.ids.size(); ++t) {
    tei::v1::SimpleToken& token = *answer.add_tokens();
    token.set_id(static_cast<uint32_t>(encoding.ids[t]));
    if (encoding.special_tokens_mask[t] != 0) {
      token.set_text(Utf8Text(encoder.tokenizer().vocab().Text(encoding.ids[t])));
      token.set_special(true);
      continue;
    }
    const Offset offset = encoding.offsets[t];
    token.set_text(Utf8Text(tokens->text.substr(offset.begin, offset.end - offset.begin)));
    token.set_start(static_cast<uint32_t>(offset.begin));
    token.set_stop(static_cast<uint32_t>(offset.end));
  }
  return RoutePlan(Written{answer.SerializeAsString()});
}

Result<RoutePlan> PlanGrpcDecode(const grpc::ByteBuffer& message, const ServedModel& model,
                                 RowEncoder& encoder) {
  const auto request = ReadMessage<tei::v1::DecodeRequest>(message);
  if (!request.ok()) return request.error();
  if ((*request)->ids().empty())
    return WrongField(Fault::kEmptyInput, "ids", "an empty list, expected token ids");
  const auto end = static_cast<uint32_t>(model.folder.tokenizer.vocab().size());
  std::vector<TokenId> ids;
  ids.reserve(static_cast<size_t>((*request)->ids_size()));
  for (const uint32_t id : (*request)->ids()) {
    if (id >= end) {
      return WrongField(Fault::kOutOfRange, Place("ids", ids.size()),
                        absl::StrCat(id, ", expected 0 to ", end - 1));
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  tei::v1::DecodeResponse answer;
  answer.set_text(
      Utf8Text(encoder.tokenizer().Decode(ids, {.skip_special_tokens = (*request)->skip_special_tokens()})));
  return RoutePlan(Written{answer.SerializeAsString()});
}

tei::v1::InfoResponse TeiInfo(const ServedModel& model) {
  const ServerFacts& facts = model.facts;
  tei::v1::InfoResponse answer;
  answer.set_version(facts.version);
  answer.set_model_id(model.names.front());
  answer.set_model_dtype(facts.dtype);
  answer.set_model_type(model.Reranks()                       ? tei::v1::MODEL_TYPE_RERANKER
                        : model.Does(engine::Task::kClassify) ? tei::v1::MODEL_TYPE_CLASSIFIER
                                                              : tei::v1::MODEL_TYPE_EMBEDDING);
  answer.set_max_concurrent_requests(static_cast<uint32_t>(facts.max_concurrent_requests));
  answer.set_max_input_length(static_cast<uint32_t>(model.max_tokens()));
  answer.set_max_batch_tokens(static_cast<uint32_t>(model.max_batch_tokens));
  if (facts.max_batch_requests > 0)
    answer.set_max_batch_requests(static_cast<uint32_t>(facts.max_batch_requests));
  answer.set_max_client_batch_size(static_cast<uint32_t>(model.policy.max_client_batch));
  answer.set_tokenization_workers(static_cast<uint32_t>(facts.tokenization_workers));
  return answer;
}

}  // namespace trellis::gateway
