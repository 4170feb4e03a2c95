// trellis-gateway: flags -> objects -> run -> drain.
//
// The folder is read first, then the port opens, then the engine warms up; /health/live is 200 from the
// second on and /health/ready from the last. On SIGTERM or SIGINT ready is 503, what was accepted is finished
// within --drain-seconds, and the exit status is 0; a second signal ends the program at once.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "serve/gateway/access_log.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/grpc_tei_listener.h"
#include "serve/gateway/http_listener.h"
#include "serve/gateway/metrics_grpc.h"
#include "serve/gateway/metrics_requests.h"
#include "serve/gateway/metrics_tei.h"
#include "serve/gateway/worker_pool.h"
#include "serve/gateway_backend.h"
#include "serve/gateway_flags.h"
#include "serve/gateway_log.h"
#include "serve/gateway_options.h"
#include "serve/model/model_folder.h"
#include "serve/server/server.h"
#include "serve/server_flags.h"
#include "serve/standard_streams.h"
#include "serve/stop_signals.h"

namespace trellis::program {
namespace {

using std::chrono::milliseconds;
using OnOff = GatewayFlags::OnOff;

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

// Finishes what was accepted; signals are watched meanwhile.
void Drain(gateway::Gateway& gate, gateway::HttpListener& listener, gateway::GrpcTeiListener* grpc,
           Backend& backend, const StopSignals& signals, std::chrono::seconds limit) {
  gate.Close();
  listener.StopAccepting();
  if (grpc != nullptr) grpc->AnnounceEnd();
  const auto end = server::Clock::now() + limit;
  std::future<bool> drained = std::async(std::launch::async, [&] {
    const bool answered = gate.Drain(limit);
    // What is left then is answered 503; that, and the last answers' way to slow readers, take a moment.
    backend.Stop();
    constexpr milliseconds kMoment{500};
    gate.Drain(kMoment);
    const auto left = [&] {
      return std::max(std::chrono::duration_cast<milliseconds>(end - server::Clock::now()), kMoment);
    };
    const bool delivered = grpc == nullptr || grpc->Stop(left());
    return listener.WaitForAnswers(left()) && delivered && answered;
  });
  while (drained.wait_for(milliseconds(0)) != std::future_status::ready) {
    if (const auto signal = signals.WaitFor(milliseconds(10))) EndAtOnce(*signal);
  }
  if (drained.get()) return Log("drained: every accepted request was answered");
  Log(absl::StrCat("not drained in ", limit.count(), " s: the rest was answered 503 or cut"));
  // Calls that are left would use what is gone when this returns.
  std::_Exit(0);
}

int Serve(const gateway::Gateway& gate, gateway::GrpcTeiListener* grpc, const StopSignals& signals) {
  bool ready = true;
  while (true) {
    if (grpc != nullptr) grpc->RefreshHealth();
    if (const auto signal = signals.WaitFor(milliseconds(100))) return *signal;
    if (ready == gate.ready()) continue;
    ready = !ready;
    Log(ready ? "ready again" : "not ready: nothing computes, every request is answered 503");
  }
}

int Run(const GatewayFlags& flags, const StopSignals& signals) {
  absl::StatusOr<model::ModelFolder> folder = model::ReadModelFolder(flags.model);
  if (!folder.ok()) return Fail("--model", folder.status());
  absl::StatusOr<gateway::GatewayOptions> options = OptionsOf(flags, *folder);
  if (!options.ok()) return Fail("--default-prompt-name", options.status());
  absl::StatusOr<std::unique_ptr<Backend>> made = MakeBackend(flags, *folder);
  if (!made.ok()) return Fail("start", made.status());
  Backend& backend = **made;
  options->facts.compute_type = backend.compute_type();

  gateway::RequestMetrics requests(backend.registry());
  gateway::AccessLog access_log(flags.json_output == OnOff::kOn ? gateway::LogForm::kJson
                                                                : gateway::LogForm::kText);
  gateway::TeiMetrics tei(backend.registry());
  std::vector<gateway::RequestObserver*> observers = {&requests, &tei};
  if (backend.observer() != nullptr) observers.push_back(backend.observer());
  if (flags.access_log == OnOff::kOn) observers.push_back(&access_log);
  std::optional<gateway::GrpcMetrics> calls;
  if (flags.grpc_port.has_value())
    observers.push_back(&calls.emplace(backend.registry(), gateway::tei_methods::kPaths));
  // From the bottom up, so that what is above goes first at the end.
  gateway::WorkerPool pool(OrCores(flags.tokenization_workers), folder->tokenizer, folder->type_ids);
  gateway::Gateway gate(
      *folder, backend.replica(), pool, observers, [&] { return backend.MetricsText(); }, *options);
  auto listening = gateway::HttpListener::Listen(flags.http, gate);
  if (!listening.ok()) return Fail(flags.http.uds.empty() ? "--port" : "--uds", listening.status());
  gateway::HttpListener& listener = **listening;
  const std::string where =
      flags.http.uds.empty() ? absl::StrCat(flags.http.hostname, ":", listener.port()) : flags.http.uds;
  Log(absl::StrCat("listening on ", where));
  std::unique_ptr<gateway::GrpcTeiListener> grpc;
  if (flags.grpc_port.has_value()) {
    auto opened = gateway::GrpcTeiListener::Listen(GrpcOptionsOf(flags), gate);
    if (!opened.ok()) return Fail("--grpc-port", opened.status());
    grpc = *std::move(opened);
    Log(absl::StrCat("gRPC on ", flags.http.hostname, ":", grpc->port()));
  }

  const absl::StatusOr<std::optional<int>> warm = backend.WarmUp(signals);
  if (!warm.ok()) return Fail("start", warm.status());
  if (!warm->has_value()) {
    Log(absl::StrCat("computed by ", backend.compute_type(), ", in batches of ", backend.DescribeBatches(),
                     "; inputs of up to ", folder->max_tokens));
    Log(absl::StrCat("ready on ", where));
  }
  const int signal = warm->has_value() ? **warm : Serve(gate, grpc.get(), signals);
  Log(absl::StrCat("signal ", signal, ": draining for at most ", flags.drain.count(), " s"));
  Drain(gate, listener, grpc.get(), backend, signals, flags.drain);
  return 0;
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
