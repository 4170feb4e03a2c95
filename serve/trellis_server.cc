// trellis-server: flags -> objects -> run -> drain.
//
// The port opens first, then the engine warms up, then health says SERVING. On SIGTERM or SIGINT health says
// NOT_SERVING, what was accepted is finished within --drain-seconds, and the exit status is 0; a second
// signal ends the program at once.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "serve/engine_choice.h"
#include "serve/graph_metrics.h"
#include "serve/server/grpc_connections.h"
#include "serve/server/grpc_limits.h"
#include "serve/server/grpc_listener.h"
#include "serve/server/metrics_endpoint.h"
#include "serve/server/metrics_recorder.h"
#include "serve/server/options.h"
#include "serve/server/server.h"
#include "serve/server_flags.h"
#include "serve/standard_streams.h"
#include "serve/stop_signals.h"

namespace trellis::program {
namespace {

using std::chrono::milliseconds;

// For answers that were given just before the time was up.
constexpr milliseconds kLastAnswers{1000};

void Log(const std::string& line) {
  std::fputs(absl::StrCat("trellis-server: ", line, "\n").c_str(), stderr);
}

int Fail(const std::string& what, const absl::Status& status) {
  Log(absl::StrCat(what, ": ", status.message()));
  return status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound
             ? kWrongUsage
             : kFault;
}

// A second signal: whoever sends it has waited long enough.
[[noreturn]] void EndAtOnce(int signal) {
  Log(absl::StrCat("signal ", signal, " again: ended at once"));
  std::_Exit(128 + signal);
}

std::string WithPort(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

// Finishes what was accepted; signals are watched meanwhile.
void Drain(server::Server& server, server::GrpcListener& listener, const StopSignals& signals,
           std::chrono::seconds limit) {
  listener.AnnounceEnd();
  const auto end = server::Clock::now() + limit;
  struct Outcome {
    bool finished = false;
    size_t undelivered = 0;
  };
  std::future<Outcome> drained = std::async(std::launch::async, [&] {
    Outcome outcome;
    outcome.finished = server.Drain(limit);
    // The last answers may still be on their way to slow readers.
    const auto rest = std::chrono::duration_cast<milliseconds>(end - server::Clock::now());
    outcome.undelivered = listener.Stop(std::max(rest, kLastAnswers));
    return outcome;
  });
  while (drained.wait_for(milliseconds(0)) != std::future_status::ready) {
    if (const auto signal = signals.WaitFor(milliseconds(10))) EndAtOnce(*signal);
  }
  const Outcome outcome = drained.get();
  std::string line = outcome.finished ? "drained: every accepted request was finished"
                                      : absl::StrCat("not drained in ", limit.count(),
                                                     " s: the rest was answered UNAVAILABLE");
  if (outcome.undelivered > 0) {
    absl::StrAppend(&line, "; ", outcome.undelivered,
                    " answers were not taken by their clients and are lost");
  }
  Log(line);
}

// Until a signal comes. A dead engine does not end the program: who watches its health decides.
int Serve(server::Server& server, server::GrpcListener& listener, const StopSignals& signals) {
  bool dead = false;
  while (true) {
    if (const auto signal = signals.WaitFor(milliseconds(100))) return *signal;
    listener.RefreshHealth();
    if (!dead && server.health() == server::Health::kDead) {
      dead = true;
      Log("the engine is dead: health is NOT_SERVING and every request UNAVAILABLE");
    }
  }
}

int Run(const ServerFlags& flags, const StopSignals& signals) {
  absl::StatusOr<ChosenEngine> chosen = MakeEngine(flags.engine);
  if (!chosen.ok()) return Fail(flags.engine_flag, chosen.status());
  // What cannot work is said before a port is open that others may see.
  const engine::EngineLimits& engine_limits = chosen->engine->limits();
  if (auto status = server::CheckEngineLimits(engine_limits); !status.ok())
    return Fail(flags.engine_flag, status);
  if (auto status = server::CheckOptions(flags.options, engine_limits); !status.ok()) {
    return Fail("options", status);
  }
  if (auto status = server::CheckMessageBytes(engine_limits, flags.max_message_bytes); !status.ok()) {
    return Fail("--max-message-bytes", status);
  }
  const server::MessageLimits limits =
      server::LimitsFor(chosen->engine->limits(), flags.options, flags.max_message_bytes);
  server::MetricsRecorder metrics({TRELLIS_VERSION, chosen->name, chosen->engine->limits().model});

  if (!flags.metrics_listen.empty()) {
    auto listening = server::MetricsEndpoint::Listen(flags.metrics_listen, metrics.registry());
    if (!listening.ok()) return Fail("--metrics-listen", listening.status());
    // Never destroyed: its web server takes two seconds to stop, and until then a last scrape may see the
    // drain.
    static server::MetricsEndpoint* const endpoint = listening->release();
    if (chosen->graphs != nullptr) endpoint->Add(std::make_shared<GraphMetrics>(chosen->graphs));
    Log(absl::StrCat("metrics on ", WithPort(flags.metrics_listen, endpoint->port())));
  }
  // Declared before the listener, whose calls use it, and so destroyed after.
  std::unique_ptr<server::Server> server;
  auto listening = server::GrpcListener::Listen(flags.listen, limits, &metrics, flags.max_connections);
  if (!listening.ok()) return Fail("--listen", listening.status());
  server::GrpcListener& listener = **listening;
  Log(absl::StrCat("listening on ", WithPort(flags.listen, listener.port())));

  using Warm = absl::StatusOr<std::unique_ptr<server::Server>>;
  std::future<Warm> warm = std::async(std::launch::async, [&]() -> Warm {
    if (chosen->warm_up != nullptr) {
      const auto found = chosen->warm_up();
      if (!found.ok()) return found.status();
      Log(absl::StrCat("warm: ", *found));
    }
    return server::Server::Create(std::move(chosen->engine), flags.options, &metrics);
  });
  while (warm.wait_for(milliseconds(0)) != std::future_status::ready) {
    if (const auto signal = signals.WaitFor(milliseconds(10))) {
      Log(absl::StrCat("signal ", *signal, " while starting: nothing was accepted yet"));
      std::_Exit(0);  // the engine is at work and cannot be interrupted
    }
  }
  Warm created = warm.get();
  if (!created.ok()) return Fail("start", created.status());
  server = *std::move(created);
  listener.Open(*server);
  Log(absl::StrCat("ready: engine ", chosen->name, ", batches of ", server->max_batch_tokens(),
                   " tokens, messages of ", limits.request_bytes, " bytes in and ", limits.reply_bytes,
                   " out"));

  const int signal = Serve(*server, listener, signals);
  Log(absl::StrCat("signal ", signal, ": draining for at most ", flags.drain.count(), " s"));
  Drain(*server, listener, signals, flags.drain);
  return 0;
}

}  // namespace
}  // namespace trellis::program

int main(int argc, char** argv) {
  using namespace trellis::program;
  OccupyStandardStreams();
  std::signal(SIGPIPE, SIG_IGN);
  trellis::server::RaiseDescriptorLimit();
  // gRPC's own log is of several lines each, and whatever is in it we report as a status. GRPC_VERBOSITY
  // brings it back.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const StopSignals signals;  // before the first thread
  const ParsedFlags parsed = ParseServerFlags(argc, argv);
  return parsed.flags ? Run(*parsed.flags, signals) : parsed.exit_status;
}
