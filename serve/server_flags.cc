#include "serve/server_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <iostream>
#include <limits>

#include "serve/engine_choice.h"
#include "serve/environment_name.h"
#include "tools/completion/completion.h"

namespace trellis::program {
namespace {

// host:port, where a host with colons is in brackets. Empty: fine. Otherwise what is wrong.
std::string AddressFault(const std::string& address) {
  const std::string wrong =
      "'" + address + "', expected host:port with a port from 0 (any free one) to 65535";
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong;
  const std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.find(':') != std::string::npos && (host.front() != '[' || host.back() != ']')) return wrong;
  const bool digits = !port.empty() && port.size() <= 5 &&
                      std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c); });
  return digits && std::stoi(port) <= 65535 ? "" : wrong;
}

}  // namespace

ParsedFlags ParseServerFlags(int argc, char** argv) {
  ServerFlags flags;
  int64_t max_wait_us = flags.options.max_wait.count();
  int64_t drain_seconds = flags.drain.count();
  ModelOnDevice model;
  constexpr int64_t kLongest = 24 * 3600;

  CLI::App app("Batching inference server: token ids in, embeddings out, over gRPC (trellis.v1).",
               "trellis-server");
  app.set_version_flag("--version", "trellis-server " TRELLIS_VERSION);
  completion::AddCompletionOption(app);
  const auto add = [&app](const std::string& name, auto& value, const std::string& description) {
    return app.add_option(name, value, description)->envname(EnvironmentName(name))->capture_default_str();
  };
  add("--listen", flags.listen, "host:port of gRPC; port 0 takes a free one and says which")
      ->check(AddressFault);
  add("--engine", flags.engine,
      "what computes, and its settings: NAME[:settings], as in cpu:FOLDER,dtype=bf16 (known: " +
          KnownEngines() + ")");
  app.add_option("--model", model.folder, "folder of a model to compute, on --device; instead of --engine")
      ->envname(EnvironmentName("--model"))
      ->type_name("FOLDER");
  app.add_option("--device", model.device,
                 "where --model runs: cpu, or cuda or cuda:N, the GPU of that number; else cpu")
      ->envname(EnvironmentName("--device"));
  add("--dtype", model.dtype,
      "numbers that --model is computed with; auto: on a GPU bf16, else the fastest that keeps rankings")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "fp16", "int8", "float32", "bfloat16", "float16"}));
  add("--max-batch-tokens", flags.options.max_batch_tokens,
      "tokens in a batch; 0: what runs in about 50 ms, found at the start")
      ->check(CLI::Range(0, std::numeric_limits<int32_t>::max()));
  add("--max-batch-requests", flags.options.max_batch_requests, "rows in a batch; 0: the engine's limit")
      ->check(CLI::Range(0, std::numeric_limits<int32_t>::max()));
  add("--max-queued-tokens", flags.options.max_queued_tokens,
      "tokens that may wait, before refusing; 0: 64 batches of them")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  add("--max-queued-requests", flags.options.max_queued_requests, "requests that may wait, before refusing")
      ->check(CLI::Range(int64_t{1}, int64_t{std::numeric_limits<int32_t>::max()}));
  add("--max-answer-bytes", flags.options.max_answer_bytes,
      "what the answers of all requests may have in bytes, from acceptance until their clients have taken "
      "them, "
      "before refusing; 0: 512 MiB, or 8 of a batch's longest")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  add("--max-connections", flags.max_connections,
      "connections of gRPC at a time, about; fewer where the limit of open files leaves no more")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  add("--max-wait-us", max_wait_us,
      "how long a batch that is not full may wait for more, in microseconds; 0: not at all")
      ->check(CLI::Range(int64_t{0}, kLongest * 1'000'000));
  add("--drain-seconds", drain_seconds,
      "after SIGTERM or SIGINT, how long accepted requests may take to finish")
      ->check(CLI::Range(int64_t{0}, kLongest));
  add("--metrics-listen", flags.metrics_listen, "host:port of GET /metrics; none: no metrics")
      ->check(
          [](const std::string& address) { return address.empty() ? std::string() : AddressFault(address); });
  add("--max-message-bytes", flags.max_message_bytes,
      "longest gRPC message either way; 0: what the other limits allow")
      ->check(CLI::Range(int64_t{0}, int64_t{std::numeric_limits<int32_t>::max()}));
  app.footer(
      "Each option may come from the environment: --max-batch-tokens from TRELLIS_MAX_BATCH_TOKENS.\n"
      "Exit status: 0 stopped by SIGTERM or SIGINT; 1 a port or an engine cannot be had; 2 wrong usage; 130 "
      "and 143\n"
      "when a second signal cut the end short.");
  try {
    app.parse(argc, argv);
    if (!model.folder.empty()) {
      if (app.count("--engine") > 0)
        throw CLI::ValidationError("--model", "given beside --engine, expected one of them");
      const auto choice = ChoiceOf(model);
      if (!choice.ok()) throw CLI::ValidationError(std::string(choice.status().message()));
      flags.engine = *choice;
      flags.engine_flag = "--model";
    } else if (!model.device.empty()) {
      throw CLI::ValidationError(
          "--device", "'" + model.device +
                          "', expected --model FOLDER beside it, or --engine cuda:FOLDER,device=N alone");
    } else if (app.count("--dtype") > 0) {
      throw CLI::ValidationError("--dtype", "given without --model, expected as a setting of --engine");
    }
  } catch (const CLI::ParseError& error) {  // --help, --version and --completion too
    const bool wanted = dynamic_cast<const CLI::Success*>(&error) != nullptr;
    app.exit(error, std::cout, std::cerr);
    return {std::nullopt, wanted ? 0 : kWrongUsage};
  }
  flags.options.max_wait = std::chrono::microseconds(max_wait_us);
  flags.drain = std::chrono::seconds(drain_seconds);
  return {std::move(flags), 0};
}

}  // namespace trellis::program
