// A server of trellis/v1 over loopback that computes nothing: it answers every row with zeros, keeps what it
// was told beside the rows, and leaves health checks without an answer where a test says so.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_RECORDING_BACKEND_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_RECORDING_BACKEND_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "serve/engine/engine.h"
#include "trellis/v1/inference.grpc.pb.h"

namespace trellis::gateway {

class RecordingBackend {
 public:
  using Metadata = std::multimap<std::string, std::string>;

  // Described as a model of embeddings with these limits.
  explicit RecordingBackend(const engine::EngineLimits& limits) : inference_(limits) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&inference_);
    builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
    target_ = "127.0.0.1:" + std::to_string(port);
  }
  ~RecordingBackend() {
    health_.silent = 0;
    server_->Shutdown();
  }

  const std::string& target() const { return target_; }
  // Of each call that wanted rows, in their order.
  std::vector<Metadata> calls() {
    const std::lock_guard lock(inference_.mutex);
    return inference_.calls;
  }
  // Only the next so many checks.
  void LeaveChecksUnanswered(int checks) { health_.silent = checks; }
  int checks() const { return health_.begun; }
  int unanswered() const { return health_.unanswered; }

 private:
  struct Inference final : v1::Inference::Service {
    explicit Inference(const engine::EngineLimits& described) : limits(described) {}

    grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest*,
                          v1::ModelDescription* out) override {
      out->set_model(limits.model);
      out->add_tasks(v1::TASK_EMBED);
      out->set_dimensions(limits.dimensions);
      out->set_vocab_size(limits.vocab_size);
      out->set_type_vocab_size(limits.type_vocab_size);
      out->set_max_row_tokens(limits.max_row_tokens);
      out->set_max_batch_tokens(limits.max_batch_tokens);
      out->set_max_batch_rows(limits.max_batch_rows);
      return grpc::Status::OK;
    }
    grpc::Status Infer(grpc::ServerContext* call, const v1::InferRequest* in, v1::InferReply* out) override {
      Metadata told;
      for (const auto& [name, value] : call->client_metadata())
        told.emplace(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
      const int rows = in->cu_seqlens_size() - 1;
      for (int r = 0; r <= rows; ++r) out->add_value_offsets(r * limits.dimensions);
      out->set_values(std::string(sizeof(float) * static_cast<size_t>(rows * limits.dimensions), '\0'));
      const std::lock_guard lock(mutex);
      calls.push_back(std::move(told));
      return grpc::Status::OK;
    }

    const engine::EngineLimits limits;
    std::mutex mutex;
    std::vector<Metadata> calls;
  };

  struct Health final : grpc::health::v1::Health::Service {
    grpc::Status Check(grpc::ServerContext* call, const grpc::health::v1::HealthCheckRequest*,
                       grpc::health::v1::HealthCheckResponse* out) override {
      ++begun;
      out->set_status(grpc::health::v1::HealthCheckResponse::SERVING);
      if (silent <= 0) return grpc::Status::OK;
      --silent;
      ++unanswered;
      while (!call->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return grpc::Status::CANCELLED;
    }

    std::atomic<int> silent{0}, begun{0}, unanswered{0};
  };

  Inference inference_;
  Health health_;
  std::unique_ptr<grpc::Server> server_;
  std::string target_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_RECORDING_BACKEND_H_
