// Streams of tei.v1: their messages through a pipe, over gRPC's reactors.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_STREAM_CALL_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_STREAM_CALL_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "serve/gateway/grpc_message_pipe.h"

namespace trellis::gateway {

// What the calls of a listener share.
struct TeiFace {
  Gateway& gateway;
  size_t max_parallel;  // messages of a stream that are under way
  size_t max_bytes;     // of the texts of one RerankStream
  std::shared_ptr<LiveCalls> live = std::make_shared<LiveCalls>();
};

// An answer for each message. Belongs to itself.
class BidiCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                       public MessagePipe {
 public:
  static BidiCall* Start(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context);
  BidiCall(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { Gone(); }
  void OnDone() override;

 private:
  void Read() override { StartRead(&message_); }
  Delivery Deliver(CallAnswer answer) override;
  void End(const std::optional<ApiError>& error) override;

  grpc::ByteBuffer message_, answer_;  // gRPC's while it reads and writes
  std::shared_ptr<BidiCall> self_;     // until OnDone
};

// RerankStream: one answer when the client has sent its last text. Belongs to itself.
class RankCall final : public grpc::ServerReadReactor<grpc::ByteBuffer>, public MessagePipe {
 public:
  static RankCall* Start(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context,
                         grpc::ByteBuffer* answer);
  RankCall(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context,
           grpc::ByteBuffer* answer);

  void OnReadDone(bool ok) override;
  void OnCancel() override { Gone(); }
  void OnDone() override;

 private:
  void Read() override { StartRead(&message_); }
  std::optional<ApiError> Check(const grpc::ByteBuffer& message) override;
  Delivery Deliver(CallAnswer answer) override;
  void End(const std::optional<ApiError>& error) override;

  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const answer_;  // gRPC's, until Finish
  const size_t max_bytes_;
  grpc::ByteBuffer message_;
  size_t texts_ = 0, bytes_ = 0;  // that have come
  RankedTexts ranked_;
  std::shared_ptr<RankCall> self_;  // until OnDone
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_STREAM_CALL_H_
