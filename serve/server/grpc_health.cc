#include "serve/server/grpc_health.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace trellis::server {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

namespace {

HealthCheckResponse::ServingStatus ToWire(HealthService::State state) {
  return state == HealthService::State::kServing ? HealthCheckResponse::SERVING
                                                 : HealthCheckResponse::NOT_SERVING;
}

}  // namespace

// One Watch. At most one write is under way; a state that comes meanwhile is written after it, and only the
// newest.
class HealthService::Watcher final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  // `watched`: none where it is not one of ours.
  Watcher(HealthService& service, std::optional<std::string> watched)
      : service_(service), watched_(std::move(watched)) {}

  const std::optional<std::string>& watched() const { return watched_; }

  void Tell(HealthCheckResponse::ServingStatus status) {
    const std::lock_guard lock(mutex_);
    if (end_ || status == wanted_) return;
    wanted_ = status;
    if (!writing_) Write();
  }

  void End(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    end_ = status;
    if (!writing_) Finish(*end_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) {
      if (!end_) end_ = grpc::Status::CANCELLED;
      Finish(*end_);
    } else if (response_.status() != *wanted_) {
      Write();  // before the end, too: that the server is about to stop is what watchers watch for
    } else if (end_) {
      Finish(*end_);
    }
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    service_.Forget(this);
    delete this;
  }

 private:
  void Write() {
    writing_ = true;
    response_.set_status(*wanted_);
    StartWrite(&response_);
  }

  HealthService& service_;
  const std::optional<std::string> watched_;
  std::mutex mutex_;
  bool writing_ = false;
  std::optional<HealthCheckResponse::ServingStatus> wanted_;
  std::optional<grpc::Status> end_;  // finished with it, or to be as soon as the write is done
  HealthCheckResponse response_;     // gRPC's while writing_
};

HealthService::HealthService(std::vector<std::string> services,
                             std::function<State(const std::string&)> state)
    : services_(std::move(services)), state_(std::move(state)) {}

bool HealthService::Knows(const std::string& service) const {
  return service.empty() || std::find(services_.begin(), services_.end(), service) != services_.end();
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* call,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  if (Knows(request->service())) {
    response->set_status(ToWire(state_(request->service())));
    reactor->Finish(grpc::Status::OK);
  } else {
    reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "no such service: " + request->service()));
  }
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(grpc::CallbackServerContext*,
                                                                    const HealthCheckRequest* request) {
  // A service that is not known may become so one day, says the protocol: the stream stays open.
  const std::string& service = request->service();
  const bool known = Knows(service);
  auto* watcher = new Watcher(*this, known ? std::optional<std::string>(service) : std::nullopt);
  const std::lock_guard lock(mutex_);
  if (closed_) {
    watcher->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping"));
    return watcher;
  }
  watcher->Tell(known ? ToWire(state_(service)) : HealthCheckResponse::SERVICE_UNKNOWN);
  watchers_.insert(watcher);
  return watcher;
}

void HealthService::Forget(Watcher* watcher) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(watcher);
  forgotten_.notify_all();
}

void HealthService::Refresh() {
  const std::lock_guard lock(mutex_);
  // Asked for under the lock, so that a watcher that came meanwhile is not told what was true before.
  for (Watcher* watcher : watchers_) {
    if (watcher->watched().has_value()) watcher->Tell(ToWire(state_(*watcher->watched())));
  }
}

void HealthService::Close(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (Watcher* watcher : watchers_)
    watcher->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping"));
  forgotten_.wait_for(lock, grace, [this] { return watchers_.empty(); });
}

}  // namespace trellis::server
