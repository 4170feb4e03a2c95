// One request on its way through the gateway. gateway.cc makes it; what happens to it is here.
#ifndef TRELLIS_SERVE_GATEWAY_GATEWAY_CALL_H_
#define TRELLIS_SERVE_GATEWAY_GATEWAY_CALL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "serve/gateway/dispatch.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/json_body.h"
#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// Texts of fewer bytes than this are tokenized by one thread: handing them over would cost more.
inline constexpr size_t kSliceBytes = size_t{16} << 10;

// The inputs in runs of about kSliceBytes: the first input of each run, and the number of inputs at the end.
std::vector<size_t> SliceInputs(const std::vector<RowInput>& inputs);

class PostCall final : public GatewayCall {
 public:
  using Clock = server::Clock;

  // Holds one of the gateway's slots until it is answered.
  PostCall(Gateway& gateway, const Route& route, HttpRequest request, Gateway::Done done);
  ~PostCall() override;

  void Start();
  void Cancel() override;

 private:
  std::shared_ptr<PostCall> Self() { return std::static_pointer_cast<PostCall>(shared_from_this()); }
  bool cancelled();
  void Plan(RowEncoder& encoder);
  void EncodeSlice(RowEncoder& encoder, size_t slice);
  void Send();
  void Write(Dispatch::Outcome outcome);
  void Fail(const ApiError& error);
  void Finish(HttpResponse response);
  void AddComputeHeaders(const ComputedRows& rows, HttpResponse& response) const;

  Gateway& gateway_;
  const Route& route_;
  HttpRequest request_;
  Gateway::Done done_;
  const Clock::time_point arrived_;
  RequestRecord record_;

  const std::shared_ptr<const Origin> origin_;

  std::optional<JsonBody> body_;
  std::optional<ServedModel> model_;
  RowWork work_;
  std::vector<size_t> bounds_;
  struct Slice {
    EncodedRows rows;
    std::optional<ApiError> error;
  };
  std::vector<Slice> slices_;
  std::atomic<size_t> slices_left_{0};
  EncodedRows rows_;
  Clock::time_point encoding_since_;

  std::mutex mutex_;
  bool cancelled_ = false;              // guarded by mutex_
  std::shared_ptr<Dispatch> dispatch_;  // guarded by mutex_
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GATEWAY_CALL_H_
