#include "serve/engine/cuda/weight_upload.h"

#include <algorithm>
#include <span>
#include <vector>

#include "serve/engine/cuda/device_error.h"
#include "serve/engine/cuda/kernels/kernels.h"
#include "serve/engine/tensor.h"

namespace trellis::engine::cuda {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // numbers

}  // namespace

absl::Status WeightUpload::Reserve() {
  if (pinned_.data != nullptr) return absl::OkStatus();
  const size_t bytes = kPiece * sizeof(float);
  if (auto status = pieces_.Allocate(bytes, "weights on their way", floats_); !status.ok()) return status;
  if (auto status = pieces_.Allocate(kPiece * sizeof(Bits16), "weights on their way", halves_); !status.ok())
    return status;
  return pieces_.AllocatePinned(bytes, "weights on their way", pinned_);
}

DeviceStatus WeightUpload::SendPiece(size_t count, As as, Buffer to) {
  const Buffer from = pinned_.Part(0, count * sizeof(float));
  if (as == As::kFloat) return device_.EnqueueCopy(stream_, to, from);
  const Buffer floats = floats_.Part(0, from.size);
  if (auto status = device_.EnqueueCopy(stream_, floats, from); status != DeviceStatus::kOk) return status;
  // The kernel writes vectors, and a tensor that lies after another may begin anywhere.
  const Buffer halves = halves_.Part(0, to.size);
  Launch narrow{"narrow", {floats}, {halves}};
  const NarrowArgs args{type_, count, floats.as<float>(), halves.as<Bits16>()};
  narrow.body = [args](Stream stream) { LaunchNarrow(stream, args); };
  if (auto status = device_.EnqueueKernel(stream_, narrow); status != DeviceStatus::kOk) return status;
  return device_.EnqueueCopy(stream_, to, halves);
}

absl::Status WeightUpload::Send(const Tensor& tensor, As as, Buffer to) {
  const auto count = static_cast<size_t>(tensor.elements());
  const size_t width = tensor.bytes.size() / count,
               out_width = as == As::kFloat ? sizeof(float) : sizeof(Bits16);
  for (size_t at = 0; at < count; at += kPiece) {
    const size_t size = std::min(kPiece, count - at);
    const Tensor piece{tensor.name,
                       tensor.dtype,
                       {static_cast<int64_t>(size)},
                       tensor.bytes.subspan(at * width, size * width)};
    piece.CopyTo({pinned_.as<float>(), size});
    DeviceStatus status = SendPiece(size, as, to.Part(at * out_width, size * out_width));
    // Also after a failure: what was enqueued before reads the piece.
    const DeviceStatus done = device_.Synchronize(stream_);
    if (status == DeviceStatus::kOk) status = done;
    if (status != DeviceStatus::kOk) return DeviceError(status, "sending " + tensor.name);
  }
  return absl::OkStatus();
}

absl::Status WeightUpload::Read(const Weights& weights, const std::vector<std::string>& names, int32_t rows,
                                int32_t columns, As as, Buffer& out) {
  if (auto status = Reserve(); !status.ok()) return status;
  std::vector<int64_t> shape{rows};
  if (columns > 0) shape.push_back(columns);
  const size_t each = static_cast<size_t>(rows) * static_cast<size_t>(std::max(columns, 1)) *
                      (as == As::kFloat ? sizeof(float) : sizeof(Bits16));
  if (auto status = memory_.Allocate(each * names.size(), names[0], out); !status.ok()) return status;
  size_t at = 0;
  for (const std::string& name : names) {
    const auto tensor = weights.Find(name, shape);
    if (!tensor.ok()) return tensor.status();
    if (auto status = Send(**tensor, as, out.Part(at, each)); !status.ok()) return status;
    at += each;
  }
  return absl::OkStatus();
}

}  // namespace trellis::engine::cuda
