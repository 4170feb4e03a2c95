// What a server and its clients both put on the wire.
#ifndef TRELLIS_SERVE_SERVER_GRPC_WIRE_H_
#define TRELLIS_SERVE_SERVER_GRPC_WIRE_H_

#include "serve/engine/engine.h"
#include "trellis/v1/inference.pb.h"

namespace trellis::server {

inline v1::Task ToWire(engine::Task task) {
  switch (task) {
    case engine::Task::kEmbed:
      return v1::TASK_EMBED;
    case engine::Task::kEmbedAll:
      return v1::TASK_EMBED_ALL;
    case engine::Task::kSparse:
      return v1::TASK_SPARSE;
    case engine::Task::kClassify:
      return v1::TASK_CLASSIFY;
  }
  return v1::TASK_UNSPECIFIED;
}

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_WIRE_H_
