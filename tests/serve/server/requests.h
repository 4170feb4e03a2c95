// Requests for tests of the batching server.
#ifndef TRELLIS_TESTS_SERVE_SERVER_REQUESTS_H_
#define TRELLIS_TESTS_SERVE_SERVER_REQUESTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "serve/engine/engine.h"
#include "serve/server/request.h"

namespace trellis::server {

// One row for each of `rows`.
inline Request MakeRequest(const std::vector<std::vector<int32_t>>& rows, engine::RowTask task = {}) {
  Request request;
  request.cu_seqlens = {0};
  for (const auto& row : rows) {
    request.ids.insert(request.ids.end(), row.begin(), row.end());
    request.cu_seqlens.push_back(static_cast<int32_t>(request.ids.size()));
    request.rows.push_back(task);
  }
  request.done = [](Reply) {};
  return request;
}

// Rows of these lengths, all of the same id.
inline Request RequestOfLengths(const std::vector<int32_t>& lengths,
                                Priority priority = Priority::kInteractive, int32_t id = 1) {
  std::vector<std::vector<int32_t>> rows;
  for (const int32_t length : lengths) rows.emplace_back(static_cast<size_t>(length), id);
  Request request = MakeRequest(rows);
  request.priority = priority;
  return request;
}

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_SERVER_REQUESTS_H_
