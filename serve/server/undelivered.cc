#include "serve/server/undelivered.h"

#include <cstddef>
#include <utility>

namespace trellis::server {

class Undelivered::Receipt {
 public:
  Receipt(std::shared_ptr<Undelivered> ledger, const Held& held) : ledger_(std::move(ledger)), held_(held) {
    ledger_->Change(held_);
  }
  ~Receipt() { ledger_->Change({-held_.requests, -held_.tokens, -held_.answer_bytes}); }
  Receipt(const Receipt&) = delete;
  Receipt& operator=(const Receipt&) = delete;

 private:
  const std::shared_ptr<Undelivered> ledger_;
  const Held held_;
};

std::shared_ptr<void> Undelivered::Hold(const Held& held) {
  return std::make_shared<Receipt>(shared_from_this(), held);
}

Held Undelivered::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void Undelivered::ForgetObserver() {
  const std::lock_guard lock(mutex_);
  observer_ = nullptr;
}

void Undelivered::Change(const Held& by) {
  const std::lock_guard lock(mutex_);
  held_ += by;
  if (observer_ == nullptr) return;
  observer_->Undelivered(static_cast<size_t>(held_.requests), static_cast<size_t>(held_.answer_bytes));
}

}  // namespace trellis::server
