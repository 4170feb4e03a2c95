#include "serve/server/grpc_reply.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/support/slice.h"
#include "serve/server/answer_bytes.h"
#include "trellis/v1/inference.pb.h"

namespace trellis::server {
namespace {

// From here on a slice of its own is cheaper than the copy.
constexpr size_t kOwnSlice = 16 << 10;
// Of failed rows: one message, and all of a reply together.
constexpr int64_t kMessage = 512;
constexpr int64_t kMessageFrame = 8;  // its tag and length, and a longer length of the failure
constexpr int64_t kMessages = int64_t{64} << 10;
constexpr bool kNativeOrder = std::endian::native == std::endian::little;

int64_t Nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Rows end to end as slices: long rows as they lie, short ones gathered.
class ValueSlices {
 public:
  void Add(std::vector<float> values) {
    if (kNativeOrder && values.size() * 4 >= kOwnSlice) {
      Flush();
      auto* owned = new std::vector<float>(std::move(values));
      slices_.emplace_back(
          owned->data(), owned->size() * 4,
          [](void* vector) { delete static_cast<std::vector<float>*>(vector); }, owned);
      return;
    }
    const size_t old = gathered_.size();
    gathered_.resize(old + values.size() * 4);
    WriteLittleEndian(values, gathered_.data() + old);
    if (gathered_.size() >= kOwnSlice) Flush();
  }

  void AppendTo(std::vector<grpc::Slice>& slices) {
    Flush();
    std::move(slices_.begin(), slices_.end(), std::back_inserter(slices));
  }

 private:
  void Flush() {
    if (gathered_.empty()) return;
    slices_.emplace_back(gathered_.data(), gathered_.size());
    gathered_.clear();
  }

  std::vector<char> gathered_;
  std::vector<grpc::Slice> slices_;
};

// The front of `text`, of at most `most` bytes: a character is left out rather than cut.
std::string Front(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most));
}

// Everything but `values`. `room`: bytes for the messages of failed rows; later ones have none when it is
// used up.
v1::InferReply Frame(const Reply& reply, int64_t room) {
  v1::InferReply frame;
  const int rows = static_cast<int>(reply.rows.size());
  frame.mutable_value_offsets()->Reserve(rows + 1);
  frame.add_value_offsets(0);
  const bool sparse = std::any_of(reply.rows.begin(), reply.rows.end(),
                                  [](const RowReply& row) { return !row.indices.empty(); });
  if (sparse) frame.add_index_offsets(0);
  int32_t values = 0;
  for (int r = 0; r < rows; ++r) {
    const RowReply& row = reply.rows[r];
    if (row.status.ok()) {
      values += static_cast<int32_t>(row.values.size());
      frame.mutable_indices()->Add(row.indices.begin(), row.indices.end());
    } else {
      v1::RowFailure& failure = *frame.add_failures();
      failure.set_row(r);
      failure.set_code(static_cast<int32_t>(row.status.code()));
      const absl::string_view whole = row.status.message();
      const int64_t most = std::clamp<int64_t>(room - kMessageFrame, 0, kMessage);
      failure.set_message(Front({whole.data(), whole.size()}, static_cast<size_t>(most)));
      room -= kMessageFrame + static_cast<int64_t>(failure.message().size());
    }
    frame.add_value_offsets(values);
    if (sparse) frame.add_index_offsets(frame.indices_size());
  }
  return frame;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

void WriteLittleEndian(std::span<const float> values, char* out) {
  if constexpr (kNativeOrder) {
    if (!values.empty()) std::memcpy(out, values.data(), values.size_bytes());
  } else {
    for (const float value : values) {
      const uint32_t bits = std::bit_cast<uint32_t>(value);
      for (int byte = 0; byte < 4; ++byte) *out++ = static_cast<char>(bits >> (8 * byte));
    }
  }
}

absl::StatusOr<grpc::ByteBuffer> ReplyToWire(Reply reply, Clock::time_point arrived, int64_t max_bytes) {
  using google::protobuf::io::CodedOutputStream;
  // Counted first: more values than a message can be would not fit its offsets.
  int64_t value_bytes = 0;
  for (const RowReply& row : reply.rows) {
    if (row.status.ok()) value_bytes += static_cast<int64_t>(row.values.size()) * 4;
  }
  const auto too_long = [&](int64_t bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the answer has ", bytes, " bytes, more than the ",
                                                     max_bytes, " of a reply: send fewer rows at once"));
  };
  if (value_bytes > max_bytes) return too_long(value_bytes);

  v1::InferReply frame = Frame(reply, std::min(max_bytes - AnswerBytes(reply.rows), kMessages));
  v1::Timings& timings = *frame.mutable_timings();
  timings.set_queue_ns(Nanoseconds(reply.timings.queue));
  timings.set_forward_ns(Nanoseconds(reply.timings.forward));
  timings.set_total_ns(Nanoseconds(Clock::now() - arrived));

  // The field `values` follows the others: order does not matter on the wire. Its head is a tag
  // (length-delimited) and a length.
  std::string head;
  frame.AppendToString(&head);
  if (value_bytes > 0) {
    uint8_t tag[2 * 10];
    uint8_t* end = CodedOutputStream::WriteVarint32ToArray(v1::InferReply::kValuesFieldNumber << 3 | 2, tag);
    end = CodedOutputStream::WriteVarint64ToArray(static_cast<uint64_t>(value_bytes), end);
    head.append(reinterpret_cast<const char*>(tag), end - tag);
  }
  const int64_t bytes = static_cast<int64_t>(head.size()) + value_bytes;
  if (bytes > max_bytes) return too_long(bytes);

  std::vector<grpc::Slice> slices;
  slices.emplace_back(head);
  ValueSlices values;
  for (RowReply& row : reply.rows) {
    if (row.status.ok()) values.Add(std::move(row.values));
  }
  values.AppendTo(slices);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace trellis::server
