// trellis.v1.Inference over gRPC's callback API: a call becomes one Request, its completion the call's one
// Finish.
//
//   message -> RequestFromWire -> reply length checked -> Submit -> done -> ReplyToWire -> Finish
//
// No thread waits for an answer. The method runs on one of gRPC's threads, `done` on one of the server's.
#ifndef TRELLIS_SERVE_SERVER_GRPC_SERVICE_H_
#define TRELLIS_SERVE_SERVER_GRPC_SERVICE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "serve/server/grpc_limits.h"
#include "serve/server/observer.h"
#include "serve/server/server.h"
#include "trellis/v1/inference.grpc.pb.h"

namespace trellis::server {

// Infer is raw: its request is parsed and its answer put together here, so that a message that is none gets
// INVALID_ARGUMENT, and the values go out without a copy.
class InferenceService final : public v1::Inference::WithRawCallbackMethod_Infer<
                                   v1::Inference::WithCallbackMethod_Describe<v1::Inference::Service>> {
 public:
  static constexpr char kName[] = "trellis.v1.Inference";

  // `observer` may be null; it hears of what is refused here, before Submit.
  InferenceService(const MessageLimits& limits, Observer* observer) : limits_(limits), observer_(observer) {}

  // Waits until each answer that the server gave has been handed to its connection, for `limit` at most.
  // Returns how many have not. After the server's Drain, when all are given.
  size_t AwaitDelivery(std::chrono::milliseconds limit);

  // Until then every call is UNAVAILABLE. `server` outlives the gRPC server that this service is part of.
  void Open(Server& server) { server_.store(&server, std::memory_order_release); }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* call, const v1::DescribeRequest* request,
                                     v1::ModelDescription* description) override;
  grpc::ServerUnaryReactor* Infer(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* reply) override;

 private:
  class Call;

  grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* call, Observer::Refusal reason,
                                   const absl::Status& status);

  const MessageLimits limits_;
  Observer* const observer_;
  std::atomic<Server*> server_{nullptr};
  std::mutex mutex_;
  std::condition_variable delivered_;
  size_t undelivered_ = 0;  // guarded by mutex_
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_SERVICE_H_
