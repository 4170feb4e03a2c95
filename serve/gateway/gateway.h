// The order of things: a request comes in, is admitted, planned by its route, tokenized, computed by the
// replica, written. It knows no transport; gateway/http_* hands it requests.
//
//   I/O thread: Serve ──► worker: parse, plan, tokenize (large ones on several) ──► replica ──► worker: write
//
// Nothing here blocks. Every request is answered exactly once, whatever becomes of it.
#ifndef TRELLIS_SERVE_GATEWAY_GATEWAY_H_
#define TRELLIS_SERVE_GATEWAY_GATEWAY_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/gateway/api_keys.h"
#include "serve/gateway/http_message.h"
#include "serve/gateway/replica.h"
#include "serve/gateway/request_record.h"
#include "serve/gateway/request_slots.h"
#include "serve/gateway/routes.h"
#include "serve/gateway/served_model.h"
#include "serve/gateway/worker_pool.h"
#include "serve/model/model_folder.h"

namespace trellis::gateway {

struct GatewayOptions {
  RequestPolicy policy;
  ServerFacts facts;
  std::vector<std::string> names;  // of the model, at least one
  size_t max_concurrent_requests = 512;
  std::vector<std::string> api_keys;
  std::string cors_allow_origin;  // empty: no page of a browser; "*": any
};

class GatewayCall;
class PlannedCall;

class Gateway {
 public:
  // All outlive the gateway. `metrics_text`: the answer of GET /metrics; any thread.
  Gateway(const model::ModelFolder& folder, Replica& replica, WorkerPool& pool,
          std::vector<RequestObserver*> observers, std::function<std::string()> metrics_text,
          const GatewayOptions& options);
  // After Drain, and after every call has been answered.
  ~Gateway() = default;
  Gateway(const Gateway&) = delete;

  using Done = std::function<void(HttpResponse)>;
  // `done` is called exactly once: before this returns for what needs no work, else on another thread.
  // What is returned can be cancelled; null when it is answered already.
  std::shared_ptr<GatewayCall> Serve(HttpRequest request, Done done);

  // What can be known to be refused before the body is read.
  std::optional<ApiError> CheckHead(const HttpRequest& head) const;

  // What the transport refuses by itself, with what every answer has.
  HttpResponse Refusal(const HttpRequest& head, const ApiError& error);

  bool ready() const;
  // Not ready from now on, and nothing new is taken. Before Drain; balancers need a moment to see it.
  void Close() { slots_.Close(); }
  // Whether all that was taken has been answered within `limit`. Blocking.
  bool Drain(std::chrono::milliseconds limit) { return slots_.WaitForNone(limit); }

  // For faces with messages of their own, which make a PlannedCall of each. Nothing is wrong with a caller,
  // and the model is there:
  std::optional<ApiError> CheckKey(const std::string& authorization) const;
  std::optional<ApiError> CheckReady() const;
  // A PlannedCall needs a place.
  RequestSlots& places() { return slots_; }
  ApiError NoPlace(RequestSlots::Taken taken) const;
  // None until the model is known.
  std::optional<ServedModel> model() const;
  void Tell(const RequestRecord& record) const;

 private:
  friend class PlannedCall;

  HttpResponse Answer(const HttpRequest& request, const Route& route);
  // In gateway_post.cc. Takes over a place.
  std::shared_ptr<GatewayCall> Post(const Route& route, HttpRequest request, Done done);
  std::optional<ApiError> Admit(const HttpRequest& request, const Route& route) const;
  void AddCors(const HttpRequest& request, HttpResponse& response) const;
  void TellAdmitted() const;
  ServedModel Model(const ReplicaModel& replica_model) const;

  const model::ModelFolder& folder_;
  Replica& replica_;
  WorkerPool& pool_;
  const std::vector<RequestObserver*> observers_;
  const std::function<std::string()> metrics_text_;
  const GatewayOptions options_;
  const ApiKeys keys_;
  RequestSlots slots_;
};

// A request that is being worked on.
class GatewayCall : public std::enable_shared_from_this<GatewayCall> {
 public:
  virtual ~GatewayCall() = default;
  // Its client is gone. `done` is called all the same, soon.
  virtual void Cancel() = 0;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GATEWAY_H_
