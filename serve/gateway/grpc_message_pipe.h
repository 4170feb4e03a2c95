// The messages of one stream, each a call of its own through the gateway. A bounded number is under way; each
// waits for a place, one of a stream at a time, while no more are read; answers go out in the order of the
// messages, and the first failure ends the stream.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_MESSAGE_PIPE_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_MESSAGE_PIPE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/gateway_call.h"
#include "serve/gateway/grpc_caller.h"
#include "serve/gateway/grpc_live_calls.h"
#include "serve/gateway/grpc_tei_methods.h"

namespace trellis::gateway {

class MessagePipe : public LastingCall, public std::enable_shared_from_this<MessagePipe> {
 public:
  // `most`: messages under way, from reading until the answer is out.
  MessagePipe(Gateway& gateway, std::shared_ptr<LiveCalls> live, const TeiMethod& method, GrpcCaller caller,
              size_t most);
  ~MessagePipe() override { live_->End(); }

  // The stream is there: it is read, or refused.
  void Begin();
  void Close() override;

 protected:
  // What the transport does. Called with the lock held, so none of them calls back before it returns.
  virtual void Read() = 0;
  enum class Delivery : uint8_t { kDone, kUnderWay };
  virtual Delivery Deliver(CallAnswer answer) = 0;
  // The last of all; no message is under way any more.
  virtual void End(const std::optional<ApiError>& error) = 0;
  // What is wrong with a message that only the stream as a whole knows.
  virtual std::optional<ApiError> Check(const grpc::ByteBuffer&) { return std::nullopt; }

  // What the transport tells.
  void Arrived(grpc::ByteBuffer message);
  void NoMoreArrive();
  void Delivered();
  void Gone();  // the client is
  void Done();  // nothing comes any more

  const Gateway& gateway() const { return gateway_; }
  const GrpcCaller& caller() const { return caller_; }

 private:
  struct Message {
    std::optional<Result<CallAnswer>> answer;
    std::shared_ptr<GatewayCall> call;
  };

  void Placed(uint64_t number, const grpc::ByteBuffer& message, server::Clock::time_point arrived,
              RequestSlots::Taken taken);
  void Answered(uint64_t number, Result<CallAnswer> answer, const RequestRecord& record);
  void Refuse(uint64_t number, const ApiError& error, server::Clock::time_point arrived);
  void Keep(uint64_t number, Result<CallAnswer> answer);
  Message& MessageLocked(uint64_t number) { return messages_[number - first_]; }
  void FailLocked(const ApiError& error);
  bool HasRoomLocked() const;
  void AdvanceLocked();

  Gateway& gateway_;
  const std::shared_ptr<LiveCalls> live_;  // a worker may be the last to hold us, when the listener is gone
  const TeiMethod& method_;
  const GrpcCaller caller_;
  const size_t most_;

  std::mutex mutex_;  // guards what follows
  std::deque<Message> messages_;
  uint64_t first_ = 0;          // the number of the first of them
  size_t under_way_ = 0;        // those of them that are not answered
  size_t largest_ = 0;          // bytes of a message or an answer so far
  bool answered_once_ = false;  // so largest_ says something about answers
  bool reading_ = false;        // Arrived or NoMoreArrive will come
  bool placing_ = false;        // the last of them waits for a place
  bool delivering_ = false;     // Delivered will come
  bool no_more_ = false;        // the client has sent its last
  bool closed_ = false;         // we read no more
  bool gone_ = false;           // the client is
  bool ended_ = false;          // End was called
  std::optional<ApiError> failure_;
  RequestSlots::Waiting waiting_ = 0;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_MESSAGE_PIPE_H_
