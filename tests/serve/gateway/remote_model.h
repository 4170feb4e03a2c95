// A tiny model behind trellis/v1 over loopback, as a trellis-server has it.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_REMOTE_MODEL_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_REMOTE_MODEL_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "serve/engine/cpu/cpu_engine.h"
#include "serve/server/grpc_limits.h"
#include "serve/server/grpc_listener.h"
#include "tests/serve/model_files.h"
#include "tests/serve/server/counting_observer.h"

namespace trellis::gateway {

class RemoteModel {
 public:
  explicit RemoteModel(const std::string& model) {
    auto engine = engine::OpenCpuEngine(testing::TinyModel(model) + ",dtype=f32,threads=1");
    if (!engine.ok()) ADD_FAILURE() << engine.status();
    const server::ServerOptions options{.max_batch_tokens = 256};
    const server::MessageLimits limits = server::LimitsFor((*engine)->limits(), options, 0);
    auto server = server::Server::Create(*std::move(engine), options, &observer_);
    if (!server.ok()) ADD_FAILURE() << server.status();
    server_ = *std::move(server);
    auto listening = server::GrpcListener::Listen("127.0.0.1:0", limits, nullptr);
    if (!listening.ok()) ADD_FAILURE() << listening.status();
    listener_ = *std::move(listening);
  }
  void Open() { listener_->Open(*server_); }
  std::string target() const { return "127.0.0.1:" + std::to_string(listener_->port()); }
  size_t accepted() const { return observer_.counts().accepted_requests; }
  void Stop() {
    listener_->AnnounceEnd();
    listener_->Stop(std::chrono::milliseconds(100));
    listener_.reset();
  }

 private:
  server::CountingObserver observer_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<server::GrpcListener> listener_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_REMOTE_MODEL_H_
