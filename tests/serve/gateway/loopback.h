// A tiny gateway behind HTTP over loopback.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_LOOPBACK_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_LOOPBACK_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "serve/gateway/http_listener.h"
#include "tests/serve/gateway/gateway_fixture.h"

namespace trellis::gateway {

class Loopback {
 public:
  enum class State { kOpen, kLoading };

  explicit Loopback(HttpOptions options = {}) : Loopback("tiny-bert", {}, State::kOpen, std::move(options)) {}
  explicit Loopback(const std::string& model, const std::function<void(TestOptions&)>& change = {},
                    State state = State::kOpen, HttpOptions options = {})
      : tiny_(model, change) {
    if (state == State::kOpen) tiny_.Open();
    options.port = 0;
    options.threads = 2;
    auto listening = HttpListener::Listen(options, tiny_.gateway());
    if (!listening.ok()) ADD_FAILURE() << listening.status();
    listener_ = *std::move(listening);
  }
  // An answer must not come to a listener that is gone.
  ~Loopback() { EXPECT_TRUE(tiny_.gateway().Drain(std::chrono::minutes(1))); }

  int port() const { return listener_->port(); }
  HttpListener& listener() { return *listener_; }
  TinyGateway& tiny() { return tiny_; }

 private:
  TinyGateway tiny_;
  std::unique_ptr<HttpListener> listener_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_LOOPBACK_H_
