// A replica in another process, behind trellis/v1: a connection of its own, its health asked for twice a
// second, and taken for gone as soon as a call says so (replica_health.h).
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_REPLICA_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_REPLICA_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "grpc/health/v1/health.grpc.pb.h"
#include "serve/gateway/replica.h"
#include "serve/gateway/replica_health.h"
#include "trellis/v1/inference.grpc.pb.h"

namespace trellis::gateway {

struct HealthChecks {
  std::chrono::milliseconds every{500};
  std::chrono::milliseconds limit{2000};  // for the answer to one
  int patience = 3;                       // so many in a row without an answer: it is gone
};

class GrpcReplica final : public Replica {
 public:
  // `target` as gRPC has it: host:port, or dns:///name. Returns at once; the replica is starting until it has
  // been reached. `hangs` is called by the watcher, at each check from the one on that is silent once too
  // often.
  explicit GrpcReplica(const std::string& target, const HealthChecks& checks = {},
                       std::function<void()> hangs = nullptr);
  // Cancels what is under way and waits until it is answered.
  ~GrpcReplica() override;

  server::Health health() const override { return health_.load(); }
  const ReplicaModel* model() const override { return known_.load(); }
  server::Ticket Infer(ReplicaRequest request) override;
  void Cancel(server::Ticket ticket) override;

 private:
  struct Call;

  void Watch();
  ReplicaHealth::Answer Check();
  bool Describe();
  void Judge(const std::function<void(ReplicaHealth&)>& judge);
  void Finish(server::Ticket ticket, const grpc::Status& status);

  const HealthChecks checks_;
  const std::function<void()> hangs_;  // may be null
  const std::unique_ptr<v1::Inference::Stub> inference_;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health_stub_;
  std::atomic<server::Health> health_{server::Health::kStarting};
  ReplicaModel model_;  // written before known_ is set
  std::atomic<const ReplicaModel*> known_{nullptr};

  std::mutex mutex_;
  std::condition_variable changed_;
  ReplicaHealth judged_;     // guarded by mutex_; health_ is what it says
  bool check_now_ = false;   // guarded by mutex_
  bool ending_ = false;      // guarded by mutex_
  server::Ticket last_ = 0;  // guarded by mutex_
  std::unordered_map<server::Ticket, std::shared_ptr<Call>> calls_;  // guarded by mutex_
  std::thread watcher_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_REPLICA_H_
