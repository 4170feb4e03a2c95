// A listener on a free port of this machine and a client of it.
#ifndef TRELLIS_TESTS_SERVE_GRPC_LOOPBACK_H_
#define TRELLIS_TESTS_SERVE_GRPC_LOOPBACK_H_

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "serve/server/grpc_limits.h"
#include "serve/server/grpc_listener.h"
#include "trellis/v1/inference.grpc.pb.h"

namespace trellis::server {

// A channel of its own for each call of it: gRPC would share connections, and their state, between tests.
inline std::shared_ptr<grpc::Channel> ChannelTo(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(),
                                   arguments);
}

// `lengths` rows with ascending ids from 1 on.
inline v1::InferRequest RowsOf(std::initializer_list<int> lengths, v1::Task task = v1::TASK_EMBED) {
  v1::InferRequest request;
  request.add_cu_seqlens(0);
  for (const int length : lengths) {
    for (int token = 0; token < length; ++token) request.add_input_ids(request.input_ids_size() + 1);
    request.add_cu_seqlens(request.input_ids_size());
  }
  request.add_tasks()->set_task(task);
  return request;
}

inline std::vector<float> RowValues(const v1::InferReply& reply, int row) {
  std::vector<float> values(static_cast<size_t>(reply.value_offsets(row + 1) - reply.value_offsets(row)));
  const size_t offset = static_cast<size_t>(reply.value_offsets(row)) * 4;
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;  // little-endian, spelled out: the test must not lean on the machine it runs on
    for (size_t b = 0; b < 4; ++b)
      bits |= uint32_t{static_cast<uint8_t>(reply.values()[offset + i * 4 + b])} << (8 * b);
    std::memcpy(&values[i], &bits, sizeof(bits));
  }
  return values;
}

inline std::vector<int32_t> RowIndices(const v1::InferReply& reply, int row) {
  if (reply.index_offsets().empty()) return {};
  return {reply.indices().begin() + reply.index_offsets(row),
          reply.indices().begin() + reply.index_offsets(row + 1)};
}

class Loopback {
 public:
  explicit Loopback(const MessageLimits& limits, Observer* observer = nullptr) {
    auto listening = GrpcListener::Listen("127.0.0.1:0", limits, observer);
    if (!listening.ok()) ADD_FAILURE() << listening.status();
    listener_ = *std::move(listening);
    inference_ = v1::Inference::NewStub(ChannelTo(listener_->port()));
    health_ = grpc::health::v1::Health::NewStub(ChannelTo(listener_->port()));
  }

  GrpcListener& listener() { return *listener_; }
  v1::Inference::Stub& inference() { return *inference_; }
  grpc::health::v1::Health::Stub& health() { return *health_; }

  struct Answer {
    grpc::Status status;
    v1::InferReply reply;
  };
  Answer Infer(const v1::InferRequest& request) {
    grpc::ClientContext call;
    Answer answer;
    answer.status = inference_->Infer(&call, request, &answer.reply);
    return answer;
  }

 private:
  std::unique_ptr<GrpcListener> listener_;
  std::unique_ptr<v1::Inference::Stub> inference_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_GRPC_LOOPBACK_H_
