// A place where rows are computed: in this process or in another.
#ifndef TRELLIS_SERVE_GATEWAY_REPLICA_H_
#define TRELLIS_SERVE_GATEWAY_REPLICA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "serve/engine/engine.h"
#include "serve/server/request.h"
#include "serve/server/server.h"

namespace trellis::gateway {

// What a replica runs and what fits. Fixed once known.
struct ReplicaModel {
  engine::EngineLimits limits;
  int32_t max_batch_tokens = 0;    // in force: requests of about so many tokens run best
  int64_t max_request_tokens = 0;  // of one Infer
};

// Whose work it is, for the logs and traces of the replica: what is empty is not told. Printable ASCII.
struct Origin {
  std::string request_id, traceparent, tracestate;
};

struct ReplicaRequest : server::Request {
  ReplicaRequest() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it is one, of nobody in particular.
  ReplicaRequest(server::Request request) : server::Request(std::move(request)) {}

  std::shared_ptr<const Origin> origin;  // may be null
};

class Replica {
 public:
  virtual ~Replica() = default;

  // Never blocks; any thread.
  virtual server::Health health() const = 0;
  // None until it has been ready once; lives as long as the replica.
  virtual const ReplicaModel* model() const = 0;

  // Calls request.done exactly once, on any thread, perhaps before this returns; what is refused is told
  // there too, as the reply's status. The ticket is for Cancel and good for nothing where the request is done
  // already.
  virtual server::Ticket Infer(ReplicaRequest request) = 0;
  virtual void Cancel(server::Ticket ticket) = 0;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REPLICA_H_
