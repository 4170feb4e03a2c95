#include "serve/gateway_options.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace trellis::program {
namespace {

using OnOff = GatewayFlags::OnOff;

engine::Pooling PoolingOf(const std::string& name) {
  if (name == "mean") return engine::Pooling::kMean;
  if (name == "cls") return engine::Pooling::kCls;
  if (name == "last" || name == "last-token") return engine::Pooling::kLast;
  return engine::Pooling::kModel;
}

absl::StatusOr<std::string> DefaultPrompt(const GatewayFlags& flags, const model::Prompts& prompts) {
  if (flags.default_prompt.has_value()) return *flags.default_prompt;
  if (!flags.default_prompt_name.has_value()) return std::string(prompts.Default());
  absl::StatusOr<std::string_view> named = prompts.Named(*flags.default_prompt_name);
  if (!named.ok()) return named.status();
  return std::string(*named);
}

}  // namespace

size_t OrCores(size_t threads) {
  return threads > 0 ? threads : std::max<size_t>(1, std::thread::hardware_concurrency());
}

absl::StatusOr<gateway::GatewayOptions> OptionsOf(const GatewayFlags& flags,
                                                  const model::ModelFolder& folder) {
  absl::StatusOr<std::string> default_prompt = DefaultPrompt(flags, folder.prompts);
  if (!default_prompt.ok()) return default_prompt.status();
  gateway::GatewayOptions options;
  options.policy.max_client_batch = flags.max_client_batch_size;
  if (flags.auto_truncate == OnOff::kOff) options.policy.too_long = gateway::EncodeRules::TooLong::kRefuse;
  if (flags.shield == OnOff::kOn) options.policy.special_text = gateway::EncodeRules::SpecialText::kShield;
  if (flags.any_model_name == OnOff::kOn) options.policy.model_name = gateway::RequestPolicy::ModelName::kAny;
  options.policy.default_prompt = *std::move(default_prompt);
  options.policy.pooling = PoolingOf(flags.pooling);
  options.policy.timeout = flags.request_timeout;
  options.facts.version = TRELLIS_VERSION;
  options.facts.dtype = flags.dtype;
  options.facts.max_concurrent_requests = static_cast<int32_t>(flags.max_concurrent_requests);
  options.facts.max_batch_requests = flags.server.max_batch_requests;
  options.facts.tokenization_workers = static_cast<int32_t>(OrCores(flags.tokenization_workers));
  options.facts.started_unix =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  options.names = flags.served_model_names;
  if (options.names.empty()) options.names.push_back(folder.config.name);
  options.max_concurrent_requests = flags.max_concurrent_requests;
  options.api_keys = flags.api_keys;
  options.cors_allow_origin = flags.cors_allow_origin;
  return options;
}

gateway::GrpcOptions GrpcOptionsOf(const GatewayFlags& flags) {
  gateway::GrpcOptions options;
  options.hostname = flags.http.hostname;
  options.port = *flags.grpc_port;
  options.tls_cert = flags.http.tls_cert;
  options.tls_key = flags.http.tls_key;
  options.payload_limit = flags.http.payload_limit;
  options.max_parallel_stream_requests = flags.grpc_max_parallel_stream_requests;
  return options;
}

}  // namespace trellis::program
