#include "serve/gateway_backend.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "prometheus/gauge.h"
#include "serve/engine_choice.h"
#include "serve/gateway/backend_set.h"
#include "serve/gateway/balancer.h"
#include "serve/gateway/discovery.h"
#include "serve/gateway/grpc_replica.h"
#include "serve/gateway/host_addresses.h"
#include "serve/gateway/local_replica.h"
#include "serve/gateway/metrics_remote.h"
#include "serve/gateway/metrics_replicas.h"
#include "serve/gateway/metrics_requests.h"
#include "serve/gateway/metrics_tei.h"
#include "serve/gateway_log.h"
#include "serve/graph_metrics.h"
#include "serve/server/metrics_recorder.h"
#include "serve/server/options.h"
#include "serve/server/server.h"

namespace trellis::program {
namespace {

using std::chrono::milliseconds;

absl::StatusOr<std::string> EngineChoice(const GatewayFlags& flags) {
  if (!flags.engine.empty()) return flags.engine;
  return ChoiceOf({flags.model, flags.device, flags.dtype, flags.threads});
}

class LocalBackend final : public Backend {
 public:
  LocalBackend(ChosenEngine chosen, const std::string& dtype, const server::ServerOptions& options)
      : name_(chosen.name),
        engine_(std::move(chosen.engine)),
        engine_warm_up_(std::move(chosen.warm_up)),
        options_(options),
        metrics_({TRELLIS_VERSION, name_, engine_->limits().model, dtype}) {
    if (chosen.graphs != nullptr) graphs_.emplace(std::move(chosen.graphs));
  }

  gateway::Replica& replica() override { return replica_; }
  gateway::RequestObserver* observer() override { return nullptr; }
  prometheus::Registry& registry() override { return *metrics_.registry(); }
  std::string MetricsText() const override {
    return gateway::MetricsText(*metrics_.registry()) + (graphs_ ? gateway::MetricsText(*graphs_) : "");
  }
  const std::string& compute_type() const override { return name_; }

  absl::StatusOr<std::optional<int>> WarmUp(const StopSignals& signals) override {
    using Warm = absl::StatusOr<std::unique_ptr<server::Server>>;
    auto warm = std::async(std::launch::async, [&]() -> Warm {
      if (engine_warm_up_ != nullptr) {
        const auto found = engine_warm_up_();
        if (!found.ok()) return found.status();
        Log(absl::StrCat("warm: ", *found));
      }
      return server::Server::Create(std::move(engine_), options_, &tei_metrics_);
    });
    while (warm.wait_for(milliseconds(0)) != std::future_status::ready) {
      if (const auto signal = signals.WaitFor(milliseconds(10))) {
        Log(absl::StrCat("signal ", *signal, " while starting: nothing was accepted yet"));
        std::_Exit(0);  // the engine is at work and cannot be interrupted
      }
    }
    Warm created = warm.get();
    if (!created.ok()) return created.status();
    server_ = *std::move(created);
    // A chunk must fit a queue that bulk requests may not fill.
    replica_.Open(*server_, options_.max_queued_tokens / 2);
    return std::optional<int>();
  }
  std::string DescribeBatches() const override {
    const int32_t tokens = server_->max_batch_tokens();
    if (options_.max_batch_tokens > 0) return absl::StrCat(tokens, " tokens, as --max-batch-tokens says");
    const char* least = tokens == server_->engine_limits().max_row_tokens
                            ? "the least, one row of the longest; was the machine busy?"
                            : "found at the start";
    return absl::StrCat(tokens, " tokens (", least, ")");
  }
  void Stop() override { server_->Drain(milliseconds(0)); }

 private:
  const std::string name_;
  std::unique_ptr<engine::Engine> engine_;
  const std::function<absl::StatusOr<std::string>()> engine_warm_up_;  // null: none
  std::optional<GraphMetrics> graphs_;
  const server::ServerOptions options_;
  server::MetricsRecorder metrics_;
  gateway::TeiBatchMetrics tei_metrics_{*metrics_.registry(), metrics_};
  gateway::LocalReplica replica_;
  std::unique_ptr<server::Server> server_;
};

class RemoteBackend final : public Backend {
 public:
  RemoteBackend(gateway::BackendSet backends, const std::string& model)
      : discovery_(std::move(backends), balancer_, {gateway::HostAddresses, Log}) {
    prometheus::BuildGauge()
        .Name("trellis_build_info")
        .Help("Always 1; its labels say what runs.")
        .Register(registry_)
        .Add({{"version", TRELLIS_VERSION}, {"engine", type_}, {"model", model}, {"dtype", type_}})
        .Set(1);
  }

  gateway::Replica& replica() override { return balancer_; }
  gateway::RequestObserver* observer() override { return &metrics_; }
  prometheus::Registry& registry() override { return registry_; }
  std::string MetricsText() const override {
    return gateway::MetricsText(registry_) + gateway::MetricsText(replicas_);
  }
  const std::string& compute_type() const override { return type_; }

  // Servers that are down now may be up later, so this lasts until one is.
  absl::StatusOr<std::optional<int>> WarmUp(const StopSignals& signals) override {
    while (balancer_.health() != server::Health::kReady) {
      if (const auto signal = signals.WaitFor(milliseconds(20))) return signal;
    }
    return std::optional<int>();
  }
  std::string DescribeBatches() const override {
    return absl::StrCat(balancer_.model()->max_batch_tokens, " tokens, as the servers say");
  }
  void Stop() override {}  // calls end with their deadlines, or with the balancer

 private:
  static std::unique_ptr<gateway::Replica> Connect(const std::string& address, std::function<void()> hangs) {
    return std::make_unique<gateway::GrpcReplica>(address, gateway::HealthChecks(), std::move(hangs));
  }

  const std::string type_ = "remote";
  prometheus::Registry registry_;
  gateway::RemoteMetrics metrics_{registry_};
  gateway::Balancer balancer_{Connect};
  const gateway::ReplicaMetrics replicas_{balancer_};
  const gateway::Discovery discovery_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const GatewayFlags& flags,
                                                     const model::ModelFolder& folder) {
  if (!flags.backends.empty()) {
    absl::StatusOr<gateway::BackendSet> backends = gateway::BackendSet::Parse(flags.backends);
    if (!backends.ok())
      return absl::InvalidArgumentError(absl::StrCat("--backend: ", backends.status().message()));
    return std::make_unique<RemoteBackend>(*std::move(backends), folder.config.name);
  }
  if (flags.server.max_batch_tokens > 0 && flags.server.max_batch_tokens < folder.max_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("--max-batch-tokens: ", flags.server.max_batch_tokens,
                                                   ", expected at least the ", folder.max_tokens,
                                                   " tokens of the longest input"));
  }
  const absl::StatusOr<std::string> choice = EngineChoice(flags);
  if (!choice.ok()) return choice.status();
  absl::StatusOr<ChosenEngine> chosen = MakeEngine(*choice);
  if (!chosen.ok()) {
    return absl::Status(chosen.status().code(),
                        absl::StrCat(flags.device.empty() ? "--engine: " : "--device: ",
                                     std::string(chosen.status().message())));
  }
  if (chosen->engine->limits().vocab_size < folder.tokenizer.vocab().size()) {
    return absl::InvalidArgumentError(absl::StrCat("--engine: ", chosen->engine->limits().vocab_size,
                                                   " ids, expected at least the tokenizer's ",
                                                   folder.tokenizer.vocab().size()));
  }
  // Here, since the same faults at warm-up would come when the port is open already.
  if (auto status = server::CheckEngineLimits(chosen->engine->limits()); !status.ok()) return status;
  if (auto status = server::CheckOptions(flags.server, chosen->engine->limits()); !status.ok()) return status;
  // With --engine it is a setting of the engine's own.
  return std::make_unique<LocalBackend>(*std::move(chosen), flags.engine.empty() ? flags.dtype : "",
                                        flags.server);
}

}  // namespace trellis::program
