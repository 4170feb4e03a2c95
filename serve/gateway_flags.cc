#include "serve/gateway_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <utility>

#include "serve/environment_name.h"
#include "serve/server_flags.h"
#include "tools/completion/completion.h"

namespace trellis::program {
namespace {

constexpr int64_t kLongest = 24 * 3600;
constexpr int32_t kMost = std::numeric_limits<int32_t>::max();

using OnOff = GatewayFlags::OnOff;

// Leaves "true" or "false" in `given`, which is empty where the option's name stands alone: that says true.
std::string AsTrueOrFalse(std::string& given) {
  if (given.empty()) given = "true";
  try {
    given = CLI::detail::to_flag_value(given) > 0 ? "true" : "false";
  } catch (const std::invalid_argument&) {
    return "\"" + given + "\", expected true or false";
  }
  return "";
}

class Options {
 public:
  // `group`: the heading of --help that its options stand under.
  Options(CLI::App& app, std::string group) : app_(app), group_(std::move(group)) {}

  template <typename T>
  CLI::Option* Add(const std::string& name, T& value, const std::string& what) {
    return AddPlain(name, value, what)->capture_default_str();
  }
  // One whose default is said in words, if at all.
  template <typename T>
  CLI::Option* AddPlain(const std::string& name, T& value, const std::string& what) {
    return app_.add_option(name, value, what)->envname(EnvironmentName(name))->group(group_);
  }
  CLI::Option* AddOnOff(const std::string& name, OnOff& value, const std::string& what) {
    // What CLI11 takes for a name without a value is the default's text, so the default stands in the type.
    const char* const type = value == OnOff::kOn ? "true|false=true" : "true|false=false";
    return app_
        .add_option_function<std::string>(
            name, [&value](const std::string& given) { value = given == "false" ? OnOff::kOff : OnOff::kOn; },
            what)
        ->envname(EnvironmentName(name))
        ->group(group_)
        ->type_name(type)
        ->check(CLI::Validator(AsTrueOrFalse, "", ""))
        ->expected(0, 1);
  }

 private:
  CLI::App& app_;
  const std::string group_;
};

void AddModelOptions(Options options, GatewayFlags& flags) {
  options
      .AddPlain("--model", flags.model,
                "folder with config.json, tokenizer.json and, unless --backend computes, model.safetensors")
      ->type_name("FOLDER")
      ->required();
  options.AddPlain(
      "--served-model-name", flags.served_model_names,
      "name in answers, and what requests may call the model; may be repeated; else the folder's name");
  options.AddOnOff("--any-model-name", flags.any_model_name, "serve requests whose `model` is another name");
  options.Add("--pooling", flags.pooling, "instead of the model's own")
      ->check(CLI::IsMember({"model", "mean", "cls", "last", "last-token"}));
  CLI::Option* prompt = options.AddPlain("--default-prompt", flags.default_prompt,
                                         "in front of texts whose request names none");
  options
      .AddPlain("--default-prompt-name", flags.default_prompt_name,
                "the same, by its name in config_sentence_transformers.json")
      ->excludes(prompt);
  options.AddOnOff("--auto-truncate", flags.auto_truncate,
                   "cut texts that are too long, unless a request says otherwise");
  options.AddOnOff("--shield", flags.shield,
                   "texts never become special tokens; a request's match_special_tokens goes before");
}

void AddBackendOptions(Options options, GatewayFlags& flags) {
  options
      .AddPlain(
          "--backend", flags.backends,
          "HOST:PORT of a trellis-server that computes instead, or dns:///NAME:PORT, each of whose addresses "
          "is one, also those to come; several, separated by commas, share the work")
      ->delimiter(',');
}

void AddEngineOptions(Options options, GatewayFlags& flags) {
  options.AddPlain("--engine", flags.engine,
                   "what computes: NAME[:settings], as in trellis-server; without it --model on --device");
  options.AddPlain("--device", flags.device,
                   "where --model runs: cpu, or cuda or cuda:N, the GPU of that number; else cpu");
  options
      .Add("--dtype", flags.dtype,
           "numbers to compute with; auto: on a GPU bf16, else the fastest that keeps rankings")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "fp16", "int8", "float32", "bfloat16", "float16"}));
  options.Add("--threads", flags.threads, "threads that compute; 0: one a core")->check(CLI::Range(0, 1024));
  options
      .Add("--max-batch-tokens", flags.server.max_batch_tokens,
           "tokens in a batch; 0: what runs in about 50 ms, found at the start")
      ->check(CLI::Range(0, kMost));
  options
      .Add("--max-batch-requests", flags.server.max_batch_requests, "rows in a batch; 0: the engine's limit")
      ->check(CLI::Range(0, kMost));
  options
      .Add("--max-queued-tokens", flags.server.max_queued_tokens,
           "tokens that may wait, before 429; 0: 64 batches of them")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
}

void AddLimitOptions(Options options, GatewayFlags& flags, int64_t& timeout, int64_t& drain) {
  options.Add("--max-concurrent-requests", flags.max_concurrent_requests, "requests under way, before 429")
      ->check(CLI::Range(1, 1'000'000));
  options.Add("--max-client-batch-size", flags.max_client_batch_size, "inputs of a request")
      ->check(CLI::Range(1, 1'000'000));
  options.Add("--payload-limit", flags.http.payload_limit, "bytes of a request's body")
      ->check(CLI::Range(int64_t{1024}, int64_t{1} << 32));
  options.Add("--request-timeout", timeout, "seconds until a request is given up with 504")
      ->check(CLI::Range(int64_t{1}, kLongest));
  options
      .Add("--drain-seconds", drain, "after SIGTERM or SIGINT, how long accepted requests may take to finish")
      ->check(CLI::Range(int64_t{0}, kLongest));
  options
      .Add("--tokenization-workers", flags.tokenization_workers,
           "threads that parse, tokenize and write; 0: one a core")
      ->check(CLI::Range(0, 1024));
}

void AddHttpOptions(Options options, GatewayFlags& flags) {
  options.Add("--hostname", flags.http.hostname, "address to listen on");
  options.Add("--port", flags.http.port, "0 takes a free one and says which")->check(CLI::Range(0, 65535));
  options.AddPlain("--uds", flags.http.uds, "path of a Unix socket, instead of --hostname and --port")
      ->type_name("PATH");
  options
      .AddPlain(
          "--grpc-port", flags.grpc_port,
          "text-embeddings-inference's gRPC services beside HTTP, on --hostname; 0 takes a free one and "
          "says which")
      ->check(CLI::Range(0, 65535));
  options
      .Add("--grpc-max-parallel-stream-requests", flags.grpc_max_parallel_stream_requests,
           "messages of a gRPC stream that are under way; no more are read meanwhile")
      ->check(CLI::Range(1, 1'000'000));
  CLI::Option* cert =
      options.AddPlain("--tls-cert", flags.http.tls_cert, "PEM file of the certificate chain")
          ->type_name("PATH");
  CLI::Option* key =
      options.AddPlain("--tls-key", flags.http.tls_key, "PEM file of its key")->type_name("PATH");
  cert->needs(key);
  key->needs(cert);
  options.AddPlain(
      "--api-key", flags.api_keys,
      "a key that `Authorization: Bearer KEY` must have; may be repeated; health and metrics need none");
  options.AddPlain("--cors-allow-origin", flags.cors_allow_origin, "the origin whose pages may ask, or *");
}

void AddLogOptions(Options options, GatewayFlags& flags) {
  options.AddOnOff("--access-log", flags.access_log, "a line on standard error for each answer");
  options.AddOnOff("--json-output", flags.json_output, "such lines as JSON");
}

}  // namespace

ParsedGatewayFlags ParseGatewayFlags(int argc, char** argv) {
  GatewayFlags flags;
  int64_t timeout = flags.request_timeout.count(), drain = flags.drain.count();
  CLI::App app(
      "Serves a model's folder to the clients there are: OpenAI's, text-embeddings-inference's, "
      "and\n"
      "rerankers' in the way of Cohere and Jina.",
      "trellis-gateway");
  app.set_version_flag("--version", "trellis-gateway " TRELLIS_VERSION);
  completion::AddCompletionOption(app);
  AddModelOptions(Options(app, "The model and what is read"), flags);
  AddEngineOptions(Options(app, "What computes, in this process"), flags);
  AddBackendOptions(Options(app, "What computes, elsewhere: the ones above are then the servers' own"),
                    flags);
  AddLimitOptions(Options(app, "Limits"), flags, timeout, drain);
  AddHttpOptions(Options(app, "HTTP"), flags);
  AddLogOptions(Options(app, "The log"), flags);
  app.footer(
      "Each option may come from the environment: --max-batch-tokens from TRELLIS_MAX_BATCH_TOKENS.\n"
      "Exit status: 0 stopped by SIGTERM or SIGINT; 1 an address or an engine cannot be had; 2 wrong usage "
      "or no\n"
      "model; 130 and 143 when a second signal cut the end short.");
  try {
    app.parse(argc, argv);
    if (!flags.backends.empty() && !flags.engine.empty())
      throw CLI::ValidationError("--backend", "given beside --engine, expected one of them");
    if (!flags.device.empty() && !(flags.engine.empty() && flags.backends.empty()))
      throw CLI::ValidationError("--device",
                                 "given beside --engine or --backend, which say where by themselves");
    // CLI11 takes a variable that is empty for one that is not set; of these that would open the door.
    for (const char* name : {"--api-key", "--tls-cert", "--tls-key"}) {
      const char* value = std::getenv(EnvironmentName(name).c_str());
      if (value != nullptr && *value == '\0')
        throw CLI::ValidationError(EnvironmentName(name), "empty, expected a value, or no such variable");
    }
    // An empty key, as an unset variable in a script gives it, would let everybody in who sends one.
    for (const std::string& api_key : flags.api_keys) {
      if (api_key.empty()) throw CLI::ValidationError("--api-key", "empty, expected a key");
    }
  } catch (const CLI::ParseError& error) {  // --help, --version and --completion too
    const bool wanted = dynamic_cast<const CLI::Success*>(&error) != nullptr;
    app.exit(error, std::cout, std::cerr);
    return {std::nullopt, wanted ? 0 : kWrongUsage};
  }
  flags.request_timeout = std::chrono::seconds(timeout);
  flags.drain = std::chrono::seconds(drain);
  return {std::move(flags), 0};
}

}  // namespace trellis::program
