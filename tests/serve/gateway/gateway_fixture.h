// A gateway in this process, on a tiny model with the CPU engine or with a synthetic one that fails where it
// is told to, and what clients say to it. No transport.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_GATEWAY_FIXTURE_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_GATEWAY_FIXTURE_H_

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "prometheus/registry.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "serve/engine/synthetic/synthetic_engine.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/local_replica.h"
#include "serve/gateway/metrics_requests.h"
#include "serve/gateway/metrics_tei.h"
#include "tests/serve/model_files.h"

namespace trellis::gateway {

struct TestOptions {
  GatewayOptions gateway;
  server::ServerOptions
      server;             // max_batch_tokens 0: 256, or the longest row; nothing is measured at the start
  std::string synthetic;  // settings of a synthetic engine, which then computes instead of the model's
  Replica* replica = nullptr;               // instead of the engine in this process
  std::vector<RequestObserver*> observers;  // beside the metrics
};

class TinyGateway {
 public:
  // `model`: one of the tiny ones, or a folder's path.
  explicit TinyGateway(const std::string& model, const std::function<void(TestOptions&)>& change = {}) {
    TestOptions options;
    const std::string path = model.starts_with('/') ? model : testing::TinyModel(model);
    options.gateway.names = {std::filesystem::path(path).filename()};
    options.gateway.facts.compute_type = "cpu";
    if (change) change(options);
    auto folder = model::ReadModelFolder(path);
    if (!folder.ok()) ADD_FAILURE() << folder.status();
    folder_ = std::make_unique<model::ModelFolder>(*std::move(folder));
    auto engine = options.synthetic.empty() ? engine::OpenCpuEngine(path + ",dtype=f32,threads=1")
                                            : engine::MakeSyntheticEngine(options.synthetic);
    if (!engine.ok()) ADD_FAILURE() << engine.status();
    if (options.server.max_batch_tokens == 0)
      options.server.max_batch_tokens = std::max(256, (*engine)->limits().max_row_tokens);
    auto server = server::Server::Create(*std::move(engine), options.server, &batch_metrics_);
    if (!server.ok()) ADD_FAILURE() << server.status();
    server_ = *std::move(server);
    pool_ = std::make_unique<WorkerPool>(2, folder_->tokenizer, folder_->type_ids);
    std::vector<RequestObserver*> observers = {&metrics_, &tei_metrics_};
    observers.insert(observers.end(), options.observers.begin(), options.observers.end());
    gateway_ = std::make_unique<Gateway>(
        *folder_, options.replica != nullptr ? *options.replica : replica_, *pool_, observers,
        [this] { return MetricsText(*registry_); }, options.gateway);
  }
  // Calls must be gone before what they use.
  ~TinyGateway() { EXPECT_TRUE(gateway_->Drain(std::chrono::minutes(1))); }

  TinyGateway& Open() {
    replica_.Open(*server_, 0);
    return *this;
  }

  HttpResponse Send(HttpRequest request) {
    std::promise<HttpResponse> answered;
    gateway_->Serve(std::move(request),
                    [&](HttpResponse response) { answered.set_value(std::move(response)); });
    return answered.get_future().get();
  }
  HttpResponse Post(const std::string& path, const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.content_type = "application/json";
    request.body = body;
    return Send(std::move(request));
  }
  HttpResponse Get(const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    return Send(std::move(request));
  }

  Gateway& gateway() { return *gateway_; }
  server::Server& server() { return *server_; }
  WorkerPool& pool() { return *pool_; }
  const model::ModelFolder& folder() const { return *folder_; }

 private:
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  RequestMetrics metrics_{*registry_};
  TeiMetrics tei_metrics_{*registry_};
  server::Observer nobody_;
  TeiBatchMetrics batch_metrics_{*registry_, nobody_};
  std::unique_ptr<model::ModelFolder> folder_;
  std::unique_ptr<server::Server> server_;
  LocalReplica replica_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Gateway> gateway_;
};

// A body that must be JSON. Its values are good as long as it lives.
class Json {
 public:
  explicit Json(const std::string& text) {
    if (const auto failed = parser_.parse(text).get(root_); failed)
      ADD_FAILURE() << simdjson::error_message(failed) << ": " << text;
  }
  // By JSON pointer: "/data/0/embedding".
  simdjson::dom::element At(std::string_view pointer) const {
    simdjson::dom::element found;
    if (root_.at_pointer(pointer).get(found)) {
      ADD_FAILURE() << "nothing at " << pointer;
      return root_;
    }
    return found;
  }
  bool Has(std::string_view pointer) const { return root_.at_pointer(pointer).error() == simdjson::SUCCESS; }
  std::string Text(std::string_view pointer) const {
    std::string_view text;
    if (At(pointer).get(text)) ADD_FAILURE() << pointer << " is no string";
    return std::string(text);
  }
  int64_t Integer(std::string_view pointer) const {
    int64_t number = -1;
    if (At(pointer).get(number)) ADD_FAILURE() << pointer << " is no integer";
    return number;
  }
  float Float(std::string_view pointer) const {
    double number = 0;
    if (At(pointer).get(number)) ADD_FAILURE() << pointer << " is no number";
    return static_cast<float>(number);
  }
  size_t Size(std::string_view pointer) const {
    simdjson::dom::array array;
    if (At(pointer).get(array)) ADD_FAILURE() << pointer << " is no array";
    return array.size();
  }
  std::vector<float> Floats(std::string_view pointer) const {
    std::vector<float> floats;
    simdjson::dom::array array;
    if (At(pointer).get(array)) ADD_FAILURE() << pointer << " is no array";
    for (const auto number : array) floats.push_back(static_cast<float>(number.get_double().value()));
    return floats;
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

inline std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

inline std::string Header(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

inline void ExpectNear(const std::vector<float>& values, const std::vector<float>& expected,
                       const std::string& where) {
  ASSERT_EQ(values.size(), expected.size()) << where;
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], 1e-5f) << where << ", value " << i;
}

// Both dialects' error bodies, whole.
inline void ExpectOpenAiError(const HttpResponse& response, int status, const std::string& type,
                              const std::string& code) {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(response.content_type, "application/json");
  const Json json(response.body);
  EXPECT_FALSE(json.Text("/error/message").empty());
  EXPECT_EQ(json.Text("/error/type"), type) << response.body;
  EXPECT_EQ(json.Text("/error/code"), code) << response.body;
  EXPECT_TRUE(json.Has("/error/param"));
  EXPECT_FALSE(Header(response, "x-request-id").empty());
}
inline void ExpectTeiError(const HttpResponse& response, int status, const std::string& type) {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(response.content_type, "application/json");
  const Json json(response.body);
  EXPECT_FALSE(json.Text("/error").empty());
  EXPECT_EQ(json.Text("/error_type"), type) << response.body;
  EXPECT_FALSE(Header(response, "x-request-id").empty());
}

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_GATEWAY_FIXTURE_H_
