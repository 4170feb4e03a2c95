// One request on its way through the gateway, whichever face it came by: planned, tokenized, computed,
// written.
#ifndef TRELLIS_SERVE_GATEWAY_GATEWAY_CALL_H_
#define TRELLIS_SERVE_GATEWAY_GATEWAY_CALL_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/gateway/dispatch.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// Texts of fewer bytes than this are tokenized by one thread: handing them over would cost more.
inline constexpr size_t kSliceBytes = size_t{16} << 10;

// The inputs in runs of about kSliceBytes: the first input of each run, and the number of inputs at the end.
std::vector<size_t> SliceInputs(const std::vector<RowInput>& inputs);

// What a face has to send.
struct CallAnswer {
  std::string body;
  std::optional<RowCosts> costs;  // where rows were computed
  std::shared_ptr<void> hold;     // see server::Reply
};

class PlannedCall final : public GatewayCall {
 public:
  using Clock = server::Clock;

  // What a face asks for.
  struct Asked {
    // Runs on a worker. It is kept, with all that it holds, until the answer is written.
    std::function<Result<RoutePlan>(const ServedModel& model, RowEncoder& encoder)> plan;
    RequestRecord record;
    std::shared_ptr<const Origin> origin;  // may be null
    Clock::time_point arrived = Clock::now();
    Clock::time_point deadline = Clock::time_point::max();  // the client's, beside the gateway's own
    // Of the replica: refused at once, or asked again until the deadline.
    enum class FullQueue : uint8_t { kRefused, kWaits } full_queue = FullQueue::kRefused;
  };
  // Called exactly once, on a worker. The record lacks what only the face knows: status and length. It is the
  // face's to tell.
  using Done = std::function<void(Result<CallAnswer> answer, RequestRecord record)>;

  // Takes over one of the gateway's places, and gives it back with the answer.
  PlannedCall(Gateway& gateway, Asked asked, Done done);

  void Start();
  void Cancel() override;

 private:
  std::shared_ptr<PlannedCall> Self() { return std::static_pointer_cast<PlannedCall>(shared_from_this()); }
  bool cancelled();
  void Plan(RowEncoder& encoder);
  Clock::time_point Deadline() const;
  // Why what is left need not be done, if it need not.
  std::optional<ApiError> Needless();
  // One slice, and then the next one behind whatever others have posted meanwhile.
  void EncodeNext(RowEncoder& encoder);
  void EncodeSlice(RowEncoder& encoder, size_t slice);
  void Send();
  void Ask();
  void Write(Dispatch::Outcome outcome);
  void Fail(const ApiError& error);
  void Finish(Result<CallAnswer> answer);

  Gateway& gateway_;
  const Asked asked_;
  RequestRecord record_;
  Done done_;

  std::optional<ServedModel> model_;
  RowWork work_;
  std::vector<size_t> bounds_;
  struct Slice {
    EncodedRows rows;
    std::optional<ApiError> error;
  };
  std::vector<Slice> slices_;
  size_t num_slices_ = 0;
  std::atomic<size_t> next_slice_{0}, slices_left_{0};
  std::atomic<size_t> first_wrong_{static_cast<size_t>(-1)};  // slice
  EncodedRows rows_;
  Clock::time_point encoding_since_;

  std::mutex mutex_;
  bool cancelled_ = false;              // guarded by mutex_
  std::shared_ptr<Dispatch> dispatch_;  // guarded by mutex_
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GATEWAY_CALL_H_
