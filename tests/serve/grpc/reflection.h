// What a server tells of its services.
#ifndef TRELLIS_TESTS_SERVE_GRPC_REFLECTION_H_
#define TRELLIS_TESTS_SERVE_GRPC_REFLECTION_H_

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "grpcpp/generic/generic_stub.h"
#include "tests/serve/grpc/loopback.h"

namespace trellis::server {

// ServerReflectionRequest by hand, since its stubs are not installed: field `number` is a string.
inline std::string Reflect(int port, char number, const std::string& value) {
  grpc::GenericStub stub(ChannelTo(port));
  struct Call : grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
    void OnReadDone(bool ok) override {
      read = ok;
      StartWritesDone();
    }
    void OnDone(const grpc::Status&) override { done.set_value(); }
    grpc::ByteBuffer response;
    bool read = false;
    std::promise<void> done;
  } call;
  const std::string message =
      std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(value.size()) + value;
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ClientContext context;
  stub.PrepareBidiStreamingCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                {}, &call);
  call.StartWrite(&request);
  call.StartRead(&call.response);
  call.StartCall();
  call.done.get_future().get();
  if (!call.read) return "";
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(call.response.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& part : slices)
    bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
  return bytes;
}

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_GRPC_REFLECTION_H_
