#include "bench/serve/load_generator.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <queue>
#include <thread>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "trellis/v1/inference.grpc.pb.h"

namespace trellis::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Call {
  grpc::ClientContext context;
  v1::InferReply reply;
  const v1::InferRequest* request = nullptr;
  LoadTally* tally = nullptr;
  Clock::time_point due;
};

// Calls without an answer, so that they can be counted, waited for and cut.
class Outstanding {
 public:
  bool Add(const std::shared_ptr<Call>& call, size_t most) {
    const std::lock_guard lock(mutex_);
    return calls_.size() < most && calls_.insert(call).second;
  }
  void Remove(const std::shared_ptr<Call>& call) {
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
    changed_.notify_all();
  }
  void Await(std::chrono::milliseconds grace) {
    std::unique_lock lock(mutex_);
    const auto none = [&] { return calls_.empty(); };
    if (changed_.wait_for(lock, grace, none)) return;
    const std::vector<std::shared_ptr<Call>> late(calls_.begin(), calls_.end());
    lock.unlock();  // a cancelled call may end at once, and be removed
    for (const std::shared_ptr<Call>& call : late) call->context.TryCancel();
    lock.lock();
    changed_.wait(lock, none);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<std::shared_ptr<Call>> calls_;
};

// Something to do at a time: an arrival of a stream, or the end of a call's patience.
struct Event {
  Clock::time_point due;
  size_t stream = 0;
  std::shared_ptr<Call> cancel;  // null: an arrival
  bool operator>(const Event& other) const { return due > other.due; }
};

class Generator {
 public:
  Generator(const LoadOptions& options, const v1::ModelDescription& model)
      : options_(options), random_(options.seed) {
    for (const LoadStream& stream : options.streams) {
      requests_.push_back(MakeRequests(stream, model.vocab_size(), random_));
      result_.tallies.push_back(std::make_unique<LoadTally>());
    }
    // Without a pool of its own each channel would use the one connection.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(static_cast<int>(model.max_reply_bytes()));
    for (int32_t c = 0; c < options.channels; ++c) {
      stubs_.push_back(v1::Inference::NewStub(
          grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments)));
    }
  }

  LoadResult Run() {
    const Clock::time_point start = Clock::now();
    const Clock::time_point end = start + options_.duration;
    for (size_t stream = 0; stream < options_.streams.size(); ++stream) PlanArrival(stream, start);
    int64_t left = options_.max_requests > 0 ? options_.max_requests : std::numeric_limits<int64_t>::max();
    while (!events_.empty()) {
      Event event = events_.top();
      events_.pop();
      const bool arrival = event.cancel == nullptr;
      if (arrival && (event.due >= end || left == 0)) continue;  // and none of this stream after it
      std::this_thread::sleep_until(event.due);
      if (!arrival) {
        event.cancel->context.TryCancel();
        continue;
      }
      --left;
      result_.late_us = std::max<int64_t>(
          result_.late_us,
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - event.due).count());
      Send(event.stream, event.due);
      PlanArrival(event.stream, event.due);
    }
    outstanding_.Await(options_.grace);
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(result_);
  }

 private:
  void PlanArrival(size_t stream, Clock::time_point after) {
    std::exponential_distribution<double> gap(options_.streams[stream].rate);
    events_.push(
        {after + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(gap(random_))),
         stream, nullptr});
  }

  void Send(size_t index, Clock::time_point due) {
    const LoadStream& stream = options_.streams[index];
    auto call = std::make_shared<Call>();
    call->due = due;
    call->tally = result_.tallies[index].get();
    call->request = &requests_[index][random_() % requests_[index].size()];
    if (!outstanding_.Add(call, static_cast<size_t>(options_.max_outstanding))) return call->tally->Skipped();
    if (stream.deadline.count() > 0)
      call->context.set_deadline(std::chrono::system_clock::now() + stream.deadline);
    if (std::uniform_real_distribution<>(0, 1)(random_) < stream.cancel_share) {
      const std::chrono::milliseconds patience(std::uniform_int_distribution<int32_t>(
          stream.cancel_after_ms.least, stream.cancel_after_ms.most)(random_));
      events_.push({Clock::now() + patience, index, call});
    }
    stubs_[sent_++ % stubs_.size()]->async()->Infer(
        &call->context, call->request, &call->reply, [this, call](const grpc::Status& status) {
          call->tally->Ended(status, *call->request, call->reply, Clock::now() - call->due);
          outstanding_.Remove(call);
        });
  }

  const LoadOptions& options_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<v1::Inference::Stub>> stubs_;
  std::vector<std::vector<v1::InferRequest>> requests_;  // by stream
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  size_t sent_ = 0;
  Outstanding outstanding_;
  LoadResult result_;
};

}  // namespace

absl::StatusOr<LoadResult> RunLoad(const LoadOptions& options) {
  v1::ModelDescription model;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  const auto stub =
      v1::Inference::NewStub(grpc::CreateChannel(options.target, grpc::InsecureChannelCredentials()));
  if (const grpc::Status status = stub->Describe(&context, {}, &model); !status.ok()) {
    return absl::UnavailableError(absl::StrCat(options.target, ": ", status.error_message()));
  }
  // Never destroyed: gRPC calls back before it has put a call away, so that its threads may still use the channels.
  static Generator* generator = nullptr;
  generator = new Generator(options, model);
  return generator->Run();
}

}  // namespace trellis::bench
