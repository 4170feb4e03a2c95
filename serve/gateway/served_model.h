// What the routes know of the model: its folder, what its engine can do, and what the operator has set.
#ifndef TRELLIS_SERVE_GATEWAY_SERVED_MODEL_H_
#define TRELLIS_SERVE_GATEWAY_SERVED_MODEL_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "serve/engine/engine.h"
#include "serve/gateway/row_encoder.h"
#include "serve/model/model_folder.h"

namespace trellis::gateway {

// What a client may ask for, and what holds where it says nothing.
struct RequestPolicy {
  enum class ModelName : uint8_t { kMustMatch, kAny };

  size_t max_client_batch = 2048;
  EncodeRules::TooLong too_long = EncodeRules::TooLong::kCut;
  EncodeRules::SpecialText special_text = EncodeRules::SpecialText::kMatch;
  ModelName model_name = ModelName::kMustMatch;
  std::string default_prompt;  // in front of a text whose request names none
  engine::Pooling pooling = engine::Pooling::kModel;
  std::chrono::milliseconds timeout{60'000};
};

// What /info tells beside.
struct ServerFacts {
  std::string version;
  std::string dtype;
  std::string compute_type;  // for x-compute-type: "cpu"
  int32_t max_concurrent_requests = 0;
  int32_t max_batch_requests = 0;  // 0: the engine's limit
  int32_t tokenization_workers = 0;
  int64_t started_unix = 0;
};

struct ServedModel {
  const model::ModelFolder& folder;
  const engine::EngineLimits& engine;
  const RequestPolicy& policy;
  const ServerFacts& facts;
  const std::vector<std::string>& names;  // the first is what answers say
  int32_t max_batch_tokens = 0;           // in force

  bool Does(engine::Task task) const { return engine.tasks[static_cast<size_t>(task)]; }
  bool Reranks() const { return Does(engine::Task::kClassify) && engine.labels == 1; }
  size_t max_tokens() const {
    return static_cast<size_t>(std::min(folder.max_tokens, engine.max_row_tokens));
  }
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_SERVED_MODEL_H_
