// A value, or what the client is to be told instead.
#ifndef TRELLIS_SERVE_GATEWAY_RESULT_H_
#define TRELLIS_SERVE_GATEWAY_RESULT_H_

#include <utility>
#include <variant>

#include "serve/gateway/api_error.h"

namespace trellis::gateway {

template <typename T>
class Result {
 public:
  Result(T value) : held_(std::move(value)) {}         // NOLINT: as StatusOr
  Result(ApiError error) : held_(std::move(error)) {}  // NOLINT

  bool ok() const { return held_.index() == 0; }
  T& operator*() & { return std::get<0>(held_); }
  const T& operator*() const& { return std::get<0>(held_); }
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }
  const ApiError& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, ApiError> held_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_RESULT_H_
