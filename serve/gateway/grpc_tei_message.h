// Fields that several messages of tei.v1 have, read one way; and their answers as bytes.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_TEI_MESSAGE_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_TEI_MESSAGE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "serve/gateway/api_error.h"
#include "serve/gateway/result.h"
#include "serve/gateway/route_plan.h"
#include "serve/gateway/served_model.h"
#include "tei/v1/tei.pb.h"

namespace trellis::gateway {

// "`field`: wrong"
ApiError WrongField(Fault fault, std::string_view field, std::string_view wrong);

// What is wrong with the bytes, if anything; strings that are no UTF-8 are.
std::optional<ApiError> ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);

template <typename Message>
Result<std::shared_ptr<const Message>> ReadMessage(const grpc::ByteBuffer& bytes) {
  auto message = std::make_shared<Message>();
  if (auto wrong = ParseMessage(bytes, *message)) return *std::move(wrong);
  return std::shared_ptr<const Message>(std::move(message));
}

// Rules as the operator has set them, without a prompt, and with what clients over gRPC do not say.
EncodeRules PlainRules(const ServedModel& model, std::string_view texts_field);

// truncate and truncation_direction. The operator's --auto-truncate is not for these messages: false is what
// a client says that says nothing.
std::optional<ApiError> SetCut(EncodeRules::TooLong too_long, int direction, EncodeRules& rules);
template <typename Message>
std::optional<ApiError> SetCut(const Message& message, EncodeRules& rules) {
  return SetCut(message.truncate() ? EncodeRules::TooLong::kCut : EncodeRules::TooLong::kRefuse,
                static_cast<int>(message.truncation_direction()), rules);
}

// prompt_name, or what the operator has set.
std::optional<ApiError> SetPrompt(const std::string* name, const ServedModel& model, EncodeRules& rules);
template <typename Message>
std::optional<ApiError> SetPrompt(const Message& message, const ServedModel& model, EncodeRules& rules) {
  return SetPrompt(message.has_prompt_name() ? &message.prompt_name() : nullptr, model, rules);
}

std::optional<ApiError> CheckText(const std::string& text, std::string_view field);

void WriteCosts(const RowCosts& costs, tei::v1::Metadata& metadata);

// The answer, with what it took where a message has that.
template <typename Message>
std::string AnswerBytes(Message& answer, const RowCosts& costs) {
  WriteCosts(costs, *answer.mutable_metadata());
  return answer.SerializeAsString();
}

// Without a copy.
grpc::ByteBuffer BufferOf(std::string bytes);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_TEI_MESSAGE_H_
