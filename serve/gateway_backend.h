// What computes for trellis-gateway: an engine in this process, or servers elsewhere.
#ifndef TRELLIS_SERVE_GATEWAY_BACKEND_H_
#define TRELLIS_SERVE_GATEWAY_BACKEND_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "prometheus/registry.h"
#include "serve/gateway/replica.h"
#include "serve/gateway/request_record.h"
#include "serve/gateway_flags.h"
#include "serve/model/model_folder.h"
#include "serve/stop_signals.h"

namespace trellis::program {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual gateway::Replica& replica() = 0;
  // Null: what it computes is counted where it is computed.
  virtual gateway::RequestObserver* observer() = 0;
  // Where the gateway's own series go beside this one's.
  virtual prometheus::Registry& registry() = 0;
  // All of them, as GET /metrics has them.
  virtual std::string MetricsText() const = 0;
  virtual const std::string& compute_type() const = 0;
  // Once it is warm: how large batches are and why, for the log.
  virtual std::string DescribeBatches() const = 0;
  // Blocking, while signals are watched; the signal that came first, if one did.
  virtual absl::StatusOr<std::optional<int>> WarmUp(const StopSignals& signals) = 0;
  // Answers what is left at once.
  virtual void Stop() = 0;
};

// By --engine, --backend and --dtype; what cannot work with the folder is said here, before a port is open.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const GatewayFlags& flags,
                                                     const model::ModelFolder& folder);

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_GATEWAY_BACKEND_H_
