// A server's Reply on its way to the wire. The values, which are nearly all of it, are not copied where they
// are long: the bytes of InferReply are put together by hand, with the rows' own memory as slices.
#ifndef TRELLIS_SERVE_SERVER_GRPC_REPLY_H_
#define TRELLIS_SERVE_SERVER_GRPC_REPLY_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"
#include "serve/server/request.h"

namespace trellis::server {

// Both enumerate the same codes with the same numbers.
grpc::Status ToGrpcStatus(const absl::Status& status);

// A serialized trellis.v1.InferReply. ResourceExhausted where it would be longer than `max_bytes`, whose like
// the server has refused before by AnswerBytes. Messages of failed rows are cut so that they never are the
// reason. `arrived`: when the request did.
absl::StatusOr<grpc::ByteBuffer> ReplyToWire(Reply reply, Clock::time_point arrived, int64_t max_bytes);

// How f32 values look on the wire, whatever this machine's order of bytes. `out` has four bytes a value.
void WriteLittleEndian(std::span<const float> values, char* out);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_REPLY_H_
