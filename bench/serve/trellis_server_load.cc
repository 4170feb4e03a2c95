// trellis-server-load: an open loop of requests against a trellis-server, and what came of them, as JSON on
// standard output.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/serve/load_generator.h"

int main(int argc, char** argv) {
  using namespace trellis::bench;
  LoadOptions options;
  std::vector<std::string> streams;
  double seconds = 10, grace = 30;
  CLI::App app(
      "Sends requests to a trellis-server when they are due, answered or not, and tells what came of them as "
      "JSON.",
      "trellis-server-load");
  app.add_option("--target", options.target, "host:port of the server")->capture_default_str();
  app.add_option("--stream", streams,
                 "a kind of traffic, may be repeated: "
                 "name=,rate=,rows=,tokens=,task=,priority=,deadline_ms=,cancel_share=,"
                 "cancel_after_ms=")
      ->required();
  app.add_option("--seconds", seconds, "how long to send")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 86400.0));
  app.add_option("--requests", options.max_requests, "at most so many in all; 0: what the time brings")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--grace", grace, "seconds to wait for the last answers, before they are cancelled")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--max-outstanding", options.max_outstanding,
                 "unanswered at a time; what is due beyond is skipped and counted")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--channels", options.channels, "connections")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--seed", options.seed, "of arrivals, lengths and ids")->capture_default_str();
  app.footer(
      "Exit status: 0 some were answered; 1 nobody answers there, or none was answered; 2 a --stream is "
      "wrong.");
  CLI11_PARSE(app, argc, argv);
  options.duration = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  options.grace = std::chrono::milliseconds(static_cast<int64_t>(grace * 1000));
  for (const std::string& spec : streams) {
    auto stream = ParseLoadStream(spec);
    if (!stream.ok()) {
      std::fprintf(stderr, "%s\n", std::string(stream.status().message()).c_str());
      return 2;
    }
    options.streams.push_back(*std::move(stream));
  }
  const auto result = RunLoad(options);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
    return 1;
  }
  std::string json = absl::StrCat("{\"seconds\": ", result->seconds,
                                  ", \"latest_send_us\": ", result->late_us, ", \"streams\": [");
  for (size_t s = 0; s < options.streams.size(); ++s) {
    absl::StrAppend(&json, s == 0 ? "" : ", ",
                    result->tallies[s]->Json(options.streams[s].name, std::max(result->seconds, 1e-3)));
  }
  int64_t ended = 0, answered = 0;
  for (const auto& tally : result->tallies) ended += tally->ended(), answered += tally->answered();
  const bool none = ended > 0 && answered == 0;
  if (none)
    std::fprintf(stderr, "%s: none of %lld requests was answered\n", options.target.c_str(),
                 static_cast<long long>(ended));
  const bool written = std::printf("%s]}\n", json.c_str()) > 0 && std::fflush(stdout) == 0;
  // Not a return, which would shut gRPC down under threads that are still putting the last calls away (1.51
  // aborts).
  std::_Exit(written && !none ? 0 : 1);
}
