// Fields that several routes have, read one way.
#ifndef TRELLIS_SERVE_GATEWAY_REQUEST_FIELDS_H_
#define TRELLIS_SERVE_GATEWAY_REQUEST_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/gateway/api_error.h"
#include "serve/gateway/json_body.h"
#include "serve/gateway/row_encoder.h"
#include "serve/gateway/served_model.h"

namespace trellis::gateway {

// A string, token ids, or a list of both: one row each, none empty, no more than a client may send.
std::vector<RowInput> ReadInputs(JsonBody& body, std::string_view field, const ServedModel& model);

// A list of strings, at least one, which may be empty. With `key`, an object with a string under it counts as
// that string.
std::vector<std::string_view> ReadTexts(JsonBody& body, std::string_view field, const ServedModel& model,
                                        std::string_view key = {});
// Texts whose vectors are wanted: none may be empty.
void CheckNotEmpty(JsonBody& body, std::string_view field, const std::vector<std::string_view>& texts);
// Before a list is read, so that what is too much is not kept.
void CheckCount(JsonBody& body, std::string_view field, size_t count, const ServedModel& model);

// truncate, truncation_direction, add_special_tokens, match_special_tokens. Nothing is in front of texts.
EncodeRules ReadRules(JsonBody& body, std::string_view texts_field, const ServedModel& model);
// prompt_name, or what the operator has set.
void ReadPrompt(JsonBody& body, const ServedModel& model, EncodeRules& rules);
// Token rows cannot have a prompt that was asked for.
void CheckPromptFits(JsonBody& body, const std::vector<RowInput>& inputs);

// normalize and dimensions.
void ReadVectorShape(JsonBody& body, const ServedModel& model, engine::RowTask& task);

// `model`, where the client names one.
std::optional<ApiError> CheckModelName(JsonBody& body, const ServedModel& model);
// What to tell a client whose request the model cannot do.
ApiError Unsupported(const ServedModel& model, std::string_view wanted);

int64_t Characters(const std::vector<RowInput>& inputs);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REQUEST_FIELDS_H_
