#include "serve/gateway/grpc_tei_message.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace trellis::gateway {
namespace {

uint32_t Counted(int64_t count) {
  return static_cast<uint32_t>(std::min<int64_t>(count, std::numeric_limits<uint32_t>::max()));
}

uint64_t Nanoseconds(std::chrono::nanoseconds time) {
  return static_cast<uint64_t>(std::max<int64_t>(time.count(), 0));
}

}  // namespace

ApiError WrongField(Fault fault, std::string_view field, std::string_view wrong) {
  std::string name(field);
  return {fault, absl::StrCat("`", name, "`: ", std::string(wrong)), std::move(name)};
}

std::optional<ApiError> ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  grpc::ByteBuffer shared = bytes;  // the reader takes a pointer to change; the slices stay where they are
  grpc::ProtoBufferReader reader(&shared);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return std::nullopt;
  return ApiError{Fault::kInvalidValue, absl::StrCat("the message is no ", message.GetTypeName(),
                                                     ", expected its fields, and strings that are UTF-8")};
}

EncodeRules PlainRules(const ServedModel& model, std::string_view texts_field) {
  EncodeRules rules;
  rules.field = texts_field;
  rules.max_tokens = model.max_tokens();
  rules.vocab_size = model.engine.vocab_size;
  rules.special_text = model.policy.special_text;
  return rules;
}

std::optional<ApiError> SetCut(EncodeRules::TooLong too_long, int direction, EncodeRules& rules) {
  rules.too_long = too_long;
  switch (direction) {
    case tei::v1::TRUNCATION_DIRECTION_RIGHT:
      rules.side = Side::kRight;
      return std::nullopt;
    case tei::v1::TRUNCATION_DIRECTION_LEFT:
      rules.side = Side::kLeft;
      return std::nullopt;
  }
  return WrongField(Fault::kInvalidValue, "truncation_direction",
                    absl::StrCat(direction, ", expected 0 for right or 1 for left"));
}

std::optional<ApiError> SetPrompt(const std::string* name, const ServedModel& model, EncodeRules& rules) {
  rules.prompt = model.policy.default_prompt;
  if (name == nullptr) return std::nullopt;
  const absl::StatusOr<std::string_view> prompt = model.folder.prompts.Named(*name);
  if (!prompt.ok())
    return WrongField(Fault::kOutOfRange, "prompt_name", std::string(prompt.status().message()));
  rules.prompt = std::string(*prompt);
  return std::nullopt;
}

std::optional<ApiError> CheckText(const std::string& text, std::string_view field) {
  if (!text.empty()) return std::nullopt;
  return WrongField(Fault::kEmptyInput, field, "empty, expected a text");
}

void WriteCosts(const RowCosts& costs, tei::v1::Metadata& metadata) {
  metadata.set_compute_chars(Counted(costs.characters));
  metadata.set_compute_tokens(Counted(costs.tokens));
  metadata.set_total_time_ns(Nanoseconds(costs.total));
  metadata.set_tokenization_time_ns(Nanoseconds(costs.tokenization));
  metadata.set_queue_time_ns(Nanoseconds(costs.queue));
  metadata.set_inference_time_ns(Nanoseconds(costs.inference));
}

grpc::ByteBuffer BufferOf(std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* string) { delete static_cast<std::string*>(string); }, owned);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace trellis::gateway
