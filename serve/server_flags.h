// The flags of trellis-server. Each may also come from the environment: --max-batch-tokens from
// TRELLIS_MAX_BATCH_TOKENS.
#ifndef TRELLIS_SERVE_SERVER_FLAGS_H_
#define TRELLIS_SERVE_SERVER_FLAGS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "serve/server/grpc_listener.h"
#include "serve/server/server.h"

namespace trellis::program {

inline constexpr int kFault = 1;       // what was asked for cannot be had
inline constexpr int kWrongUsage = 2;  // what was asked for is not understood

struct ServerFlags {
  std::string listen = "127.0.0.1:50051";
  std::string engine = "synthetic";      // as MakeEngine takes it, whatever flags said so
  std::string engine_flag = "--engine";  // the one to name in errors
  server::ServerOptions options;
  std::chrono::seconds drain{30};
  std::string metrics_listen;     // empty: none
  int64_t max_message_bytes = 0;  // 0: fits the other limits
  int64_t max_connections = server::GrpcListener::kMaxConnections;
};

// Either flags, or the exit status of a run that ends here: after --help and --version on standard output, or
// after an error on standard error.
struct ParsedFlags {
  std::optional<ServerFlags> flags;
  int exit_status = 0;
};
ParsedFlags ParseServerFlags(int argc, char** argv);

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_SERVER_FLAGS_H_
