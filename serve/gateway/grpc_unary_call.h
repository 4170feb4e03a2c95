// One unary call of tei.v1: its message as a call through the gateway, its answer as gRPC's one Finish.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_UNARY_CALL_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_UNARY_CALL_H_

#include <memory>
#include <mutex>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/gateway_call.h"
#include "serve/gateway/grpc_caller.h"
#include "serve/gateway/grpc_live_calls.h"
#include "serve/gateway/grpc_tei_methods.h"

namespace trellis::gateway {

class UnaryCall final : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<UnaryCall> {
 public:
  // `message` and `answer` are gRPC's, until Finish. What is returned belongs to itself.
  static grpc::ServerUnaryReactor* Start(Gateway& gateway, std::shared_ptr<LiveCalls> live, const TeiMethod& method,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* message, grpc::ByteBuffer* answer);

  UnaryCall(Gateway& gateway, std::shared_ptr<LiveCalls> live, const TeiMethod& method, grpc::CallbackServerContext* context,
            const grpc::ByteBuffer* message, grpc::ByteBuffer* answer);
  ~UnaryCall() override { live_->End(); }

  void OnCancel() override;
  void OnDone() override;

 private:
  void Begin();
  void Placed(RequestSlots::Taken taken);
  void Answered(Result<CallAnswer> answer, const RequestRecord& record);
  void Refuse(const ApiError& error);
  void Conclude(const std::optional<ApiError>& error, const RequestRecord& record, size_t response_bytes);
  bool gone();

  Gateway& gateway_;
  const std::shared_ptr<LiveCalls> live_;  // a worker may be the last to hold us, when the listener is gone
  const TeiMethod& method_;
  grpc::CallbackServerContext* const context_;
  const grpc::ByteBuffer* const message_;
  grpc::ByteBuffer* const answer_;
  const GrpcCaller caller_;
  std::shared_ptr<void> hold_;       // the answer's, until it is delivered
  std::shared_ptr<UnaryCall> self_;  // until OnDone

  std::mutex mutex_;
  bool gone_ = false;                  // guarded by mutex_: the client is, or its time is up
  RequestSlots::Waiting waiting_ = 0;  // guarded by mutex_
  std::shared_ptr<GatewayCall> call_;  // guarded by mutex_
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_UNARY_CALL_H_
