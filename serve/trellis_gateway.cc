// trellis-gateway: flags -> objects -> run -> drain.
//
// The folder is read first, then the port opens, then the engine warms up; /health/live is 200 from the
// second on and /health/ready from the last. On SIGTERM or SIGINT ready is 503, what was accepted is finished
// within
// --drain-seconds, and the exit status is 0; a second signal ends the program at once.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "prometheus/registry.h"
#include "serve/engine_choice.h"
#include "serve/gateway/access_log.h"
#include "serve/gateway/balancer.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/grpc_replica.h"
#include "serve/gateway/http_listener.h"
#include "serve/gateway/local_replica.h"
#include "serve/gateway/metrics_requests.h"
#include "serve/gateway/worker_pool.h"
#include "serve/gateway_flags.h"
#include "serve/model/model_folder.h"
#include "serve/server/metrics_recorder.h"
#include "serve/server/server.h"
#include "serve/server_flags.h"
#include "serve/stop_signals.h"

namespace trellis::program {
namespace {

using std::chrono::milliseconds;
using OnOff = GatewayFlags::OnOff;

void Log(const std::string& line) {
  std::fputs(absl::StrCat("trellis-gateway: ", line, "\n").c_str(), stderr);
}

int Fail(const std::string& what, const absl::Status& status) {
  Log(absl::StrCat(what, ": ", status.message()));
  return status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound
             ? kWrongUsage
             : kFault;
}

[[noreturn]] void EndAtOnce(int signal) {
  Log(absl::StrCat("signal ", signal, " again: ended at once"));
  std::_Exit(128 + signal);
}

size_t OrCores(size_t threads) {
  return threads > 0 ? threads : std::max<size_t>(1, std::thread::hardware_concurrency());
}

std::string EngineChoice(const GatewayFlags& flags) {
  if (!flags.engine.empty()) return flags.engine;
  std::string dtype = flags.dtype;
  if (dtype == "float32") dtype = "f32";
  if (dtype == "bfloat16") dtype = "bf16";
  return absl::StrCat("cpu:", flags.model, ",dtype=", dtype,
                      flags.threads > 0 ? absl::StrCat(",threads=", flags.threads) : "");
}

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

gateway::GatewayOptions OptionsOf(const GatewayFlags& flags, const model::ModelFolder& folder,
                                  const std::string& default_prompt, const std::string& compute_type) {
  gateway::GatewayOptions options;
  options.policy.max_client_batch = flags.max_client_batch_size;
  if (flags.auto_truncate == OnOff::kOff) options.policy.too_long = gateway::EncodeRules::TooLong::kRefuse;
  if (flags.shield == OnOff::kOn) options.policy.special_text = gateway::EncodeRules::SpecialText::kShield;
  if (flags.any_model_name == OnOff::kOn) options.policy.model_name = gateway::RequestPolicy::ModelName::kAny;
  options.policy.default_prompt = default_prompt;
  options.policy.pooling = PoolingOf(flags.pooling);
  options.policy.timeout = flags.request_timeout;
  options.facts.version = TRELLIS_VERSION;
  options.facts.dtype = flags.dtype;
  options.facts.compute_type = compute_type;
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

// What computes: an engine in this process, or servers elsewhere.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual gateway::Replica& replica() = 0;
  virtual std::shared_ptr<prometheus::Registry> registry() = 0;
  virtual const std::string& compute_type() const = 0;
  // Blocking, while signals are watched; the signal that came first, if one did.
  virtual absl::StatusOr<std::optional<int>> WarmUp(const StopSignals& signals) = 0;
  // Answers what is left at once.
  virtual void Stop() = 0;
};

class LocalBackend final : public Backend {
 public:
  LocalBackend(ChosenEngine chosen, const server::ServerOptions& options)
      : name_(chosen.name),
        engine_(std::move(chosen.engine)),
        options_(options),
        metrics_({TRELLIS_VERSION, name_, engine_->limits().model}) {}

  gateway::Replica& replica() override { return replica_; }
  std::shared_ptr<prometheus::Registry> registry() override { return metrics_.registry(); }
  const std::string& compute_type() const override { return name_; }

  absl::StatusOr<std::optional<int>> WarmUp(const StopSignals& signals) override {
    auto warm = std::async(std::launch::async,
                           [&] { return server::Server::Create(std::move(engine_), options_, &metrics_); });
    while (warm.wait_for(milliseconds(0)) != std::future_status::ready) {
      if (const auto signal = signals.WaitFor(milliseconds(10))) {
        Log(absl::StrCat("signal ", *signal, " while starting: nothing was accepted yet"));
        std::_Exit(0);  // the engine is at work and cannot be interrupted
      }
    }
    absl::StatusOr<std::unique_ptr<server::Server>> created = warm.get();
    if (!created.ok()) return created.status();
    server_ = *std::move(created);
    // A chunk must fit a queue that bulk requests may not fill.
    replica_.Open(*server_, options_.max_queued_tokens / 2);
    return std::optional<int>();
  }
  void Stop() override { server_->Drain(milliseconds(0)); }

 private:
  const std::string name_;
  std::unique_ptr<engine::Engine> engine_;
  const server::ServerOptions options_;
  server::MetricsRecorder metrics_;
  gateway::LocalReplica replica_;
  std::unique_ptr<server::Server> server_;
};

class RemoteBackend final : public Backend {
 public:
  explicit RemoteBackend(const std::vector<std::string>& targets) : balancer_(ReplicasOf(targets)) {}

  gateway::Replica& replica() override { return balancer_; }
  std::shared_ptr<prometheus::Registry> registry() override { return registry_; }
  const std::string& compute_type() const override { return type_; }

  // Servers that are down now may be up later, so this lasts until one is.
  absl::StatusOr<std::optional<int>> WarmUp(const StopSignals& signals) override {
    while (balancer_.health() != server::Health::kReady) {
      if (const auto signal = signals.WaitFor(milliseconds(20))) return signal;
    }
    return std::optional<int>();
  }
  void Stop() override {}  // calls end with their deadlines, or with the balancer

 private:
  static std::vector<std::unique_ptr<gateway::Replica>> ReplicasOf(const std::vector<std::string>& targets) {
    std::vector<std::unique_ptr<gateway::Replica>> replicas;
    for (const std::string& target : targets)
      replicas.push_back(std::make_unique<gateway::GrpcReplica>(target));
    return replicas;
  }

  const std::string type_ = "remote";
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  gateway::Balancer balancer_;
};

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const GatewayFlags& flags,
                                                     const model::ModelFolder& folder) {
  if (!flags.backends.empty()) return std::make_unique<RemoteBackend>(flags.backends);
  if (flags.server.max_batch_tokens > 0 && flags.server.max_batch_tokens < folder.max_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("--max-batch-tokens: ", flags.server.max_batch_tokens,
                                                   ", expected at least the ", folder.max_tokens,
                                                   " tokens of the longest input"));
  }
  absl::StatusOr<ChosenEngine> chosen = MakeEngine(EngineChoice(flags));
  if (!chosen.ok()) {
    return absl::Status(chosen.status().code(),
                        absl::StrCat("--engine: ", std::string(chosen.status().message())));
  }
  if (chosen->engine->limits().vocab_size < folder.tokenizer.vocab().size()) {
    return absl::InvalidArgumentError(absl::StrCat("--engine: ", chosen->engine->limits().vocab_size,
                                                   " ids, expected at least the tokenizer's ",
                                                   folder.tokenizer.vocab().size()));
  }
  return std::make_unique<LocalBackend>(*std::move(chosen), flags.server);
}

// Finishes what was accepted; signals are watched meanwhile.
void Drain(gateway::Gateway& gate, gateway::HttpListener& listener, Backend& backend,
           const StopSignals& signals, std::chrono::seconds limit) {
  gate.Close();
  listener.StopAccepting();
  const auto end = server::Clock::now() + limit;
  std::future<bool> drained = std::async(std::launch::async, [&] {
    const bool answered = gate.Drain(limit);
    // What is left then is answered 503; that, and the last answers' way to slow readers, take a moment.
    backend.Stop();
    constexpr milliseconds kMoment{500};
    gate.Drain(kMoment);
    const auto left = std::chrono::duration_cast<milliseconds>(end - server::Clock::now());
    return listener.WaitForAnswers(std::max(left, kMoment)) && answered;
  });
  while (drained.wait_for(milliseconds(0)) != std::future_status::ready) {
    if (const auto signal = signals.WaitFor(milliseconds(10))) EndAtOnce(*signal);
  }
  if (drained.get()) return Log("drained: every accepted request was answered");
  Log(absl::StrCat("not drained in ", limit.count(), " s: the rest was answered 503 or cut"));
  // Calls that are left would use what is gone when this returns.
  std::_Exit(0);
}

int Serve(const gateway::Gateway& gate, const StopSignals& signals) {
  bool ready = true;
  while (true) {
    if (const auto signal = signals.WaitFor(milliseconds(100))) return *signal;
    if (ready == gate.ready()) continue;
    ready = !ready;
    Log(ready ? "ready again" : "not ready: nothing computes, every request is answered 503");
  }
}

int Run(const GatewayFlags& flags, const StopSignals& signals) {
  absl::StatusOr<model::ModelFolder> folder = model::ReadModelFolder(flags.model);
  if (!folder.ok()) return Fail("--model", folder.status());
  const absl::StatusOr<std::string> prompt = DefaultPrompt(flags, folder->prompts);
  if (!prompt.ok()) return Fail("--default-prompt-name", prompt.status());
  absl::StatusOr<std::unique_ptr<Backend>> made = MakeBackend(flags, *folder);
  if (!made.ok()) return Fail("start", made.status());
  Backend& backend = **made;

  gateway::RequestMetrics requests(*backend.registry());
  gateway::AccessLog access_log(flags.json_output == OnOff::kOn ? gateway::LogForm::kJson
                                                                : gateway::LogForm::kText);
  std::vector<gateway::RequestObserver*> observers = {&requests};
  if (flags.access_log == OnOff::kOn) observers.push_back(&access_log);
  const gateway::GatewayOptions options = OptionsOf(flags, *folder, *prompt, backend.compute_type());
  // From the bottom up, so that what is above goes first at the end.
  gateway::WorkerPool pool(OrCores(flags.tokenization_workers), folder->tokenizer, folder->type_ids);
  gateway::Gateway gate(
      *folder, backend.replica(), pool, observers, [&] { return gateway::MetricsText(*backend.registry()); },
      options);
  auto listening = gateway::HttpListener::Listen(flags.http, gate);
  if (!listening.ok()) return Fail(flags.http.uds.empty() ? "--port" : "--uds", listening.status());
  gateway::HttpListener& listener = **listening;
  const std::string where =
      flags.http.uds.empty() ? absl::StrCat(flags.http.hostname, ":", listener.port()) : flags.http.uds;
  Log(absl::StrCat("listening on ", where));

  const absl::StatusOr<std::optional<int>> warm = backend.WarmUp(signals);
  if (!warm.ok()) return Fail("start", warm.status());
  if (!warm->has_value()) {
    Log(absl::StrCat("computed by ", backend.compute_type(), ", in batches of ",
                     backend.replica().model()->max_batch_tokens, " tokens; inputs of up to ",
                     folder->max_tokens));
    Log(absl::StrCat("ready on ", where));
  }
  const int signal = warm->has_value() ? **warm : Serve(gate, signals);
  Log(absl::StrCat("signal ", signal, ": draining for at most ", flags.drain.count(), " s"));
  Drain(gate, listener, backend, signals, flags.drain);
  return 0;
}

// A standard stream that was closed when we started would be the first socket that we open, and the log would
// go to a client.
void OccupyStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) (void)!open("/dev/null", O_RDWR);
  }
}

}  // namespace
}  // namespace trellis::program

int main(int argc, char** argv) {
  using namespace trellis::program;
  OccupyStandardStreams();
  std::signal(SIGPIPE, SIG_IGN);
  // gRPC's own log is of several lines each, and whatever is in it we report as a status.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const StopSignals signals;  // before the first thread
  const ParsedGatewayFlags parsed = ParseGatewayFlags(argc, argv);
  return parsed.flags ? Run(*parsed.flags, signals) : parsed.exit_status;
}
