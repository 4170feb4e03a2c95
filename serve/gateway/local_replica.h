// The replica in this process: serve/server's batching server over an engine.
#ifndef TRELLIS_SERVE_GATEWAY_LOCAL_REPLICA_H_
#define TRELLIS_SERVE_GATEWAY_LOCAL_REPLICA_H_

#include <atomic>

#include "serve/gateway/replica.h"

namespace trellis::gateway {

class LocalReplica final : public Replica {
 public:
  // From now on requests reach `server`, which outlives the replica's use. Before, they are refused as not
  // ready. `max_queued_tokens`: what the server's queue holds; 0: it is not known.
  void Open(server::Server& server, int64_t max_queued_tokens);

  server::Health health() const override;
  const ReplicaModel* model() const override;
  server::Ticket Infer(ReplicaRequest request) override;
  void Cancel(server::Ticket ticket) override;

 private:
  ReplicaModel model_;  // written before server_ is set
  std::atomic<server::Server*> server_{nullptr};
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_LOCAL_REPLICA_H_
