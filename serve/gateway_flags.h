// The flags of trellis-gateway, most under the names that text-embeddings-inference gave them. Each may also
// come from the environment: --max-client-batch-size from TRELLIS_MAX_CLIENT_BATCH_SIZE.
#ifndef TRELLIS_SERVE_GATEWAY_FLAGS_H_
#define TRELLIS_SERVE_GATEWAY_FLAGS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/gateway/http_listener.h"
#include "serve/server/server.h"

namespace trellis::program {

struct GatewayFlags {
  std::string model;
  std::string engine;                 // empty: cpu on the model's folder
  std::vector<std::string> backends;  // trellis-servers, instead of an engine here
  std::string device;                 // empty: cpu
  std::string dtype = "auto";
  int threads = 0;
  std::vector<std::string> served_model_names;
  enum class OnOff : uint8_t { kOff, kOn };
  OnOff any_model_name = OnOff::kOff;
  OnOff auto_truncate = OnOff::kOn;
  OnOff shield = OnOff::kOff;
  OnOff access_log = OnOff::kOn;
  OnOff json_output = OnOff::kOff;
  std::string pooling = "model";
  std::optional<std::string> default_prompt, default_prompt_name;
  size_t max_client_batch_size = 2048;
  size_t max_concurrent_requests = 512;
  size_t tokenization_workers = 0;
  std::chrono::seconds request_timeout{60};
  std::chrono::seconds drain{30};
  std::vector<std::string> api_keys;
  std::string cors_allow_origin;
  gateway::HttpOptions http;
  std::optional<uint16_t> grpc_port;  // none: no gRPC
  size_t grpc_max_parallel_stream_requests = 1024;
  server::ServerOptions server;
};

struct ParsedGatewayFlags {
  std::optional<GatewayFlags> flags;
  int exit_status = 0;
};
ParsedGatewayFlags ParseGatewayFlags(int argc, char** argv);

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_GATEWAY_FLAGS_H_
