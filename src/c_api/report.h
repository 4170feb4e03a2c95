// How a call of the C interface ends: a status and a line in the caller's memory.
// Nothing here allocates, and no exception passes.
#ifndef TRELLIS_SRC_C_API_REPORT_H_
#define TRELLIS_SRC_C_API_REPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "absl/status/status.h"
#include "trellis/c_api.h"

namespace trellis::c_api {

class Report {
 public:
  Report(char* message, size_t size) : message_(message), size_(message == nullptr ? 0 : size) { Say({}); }

  trellis_status Fail(trellis_status status, std::string_view words) const {
    Say(words);
    return status;
  }
  trellis_status From(const absl::Status& status) const {
    // abseil's string_view need not be the standard's.
    return Fail(static_cast<trellis_status>(status.code()),
                {status.message().data(), status.message().size()});
  }
  trellis_status Invalid(std::string_view words) const { return Fail(TRELLIS_INVALID_ARGUMENT, words); }
  template <typename... Values>
  trellis_status Failf(trellis_status status, const char* format, Values... values) const {
    char words[512];
    std::snprintf(words, sizeof words, format, values...);
    return Fail(status, words);
  }

 private:
  void Say(std::string_view words) const {
    if (size_ == 0) return;
    size_t length = std::min(words.size(), size_ - 1);
    // Not cut inside a character.
    if (length < words.size()) {
      while (length > 0 && (static_cast<uint8_t>(words[length]) & 0xC0) == 0x80) --length;
    }
    if (length > 0) std::memcpy(message_, words.data(), length);
    message_[length] = '\0';
  }

  char* message_;
  size_t size_;
};

template <typename Call>
trellis_status Guarded(const Report& report, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return report.Fail(TRELLIS_RESOURCE_EXHAUSTED, "memory: too little");
  } catch (const std::length_error&) {
    return report.Fail(TRELLIS_RESOURCE_EXHAUSTED, "memory: too little for such a size");
  } catch (const std::exception& error) {
    return report.Fail(TRELLIS_INTERNAL, error.what());
  } catch (...) {
    return report.Fail(TRELLIS_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace trellis::c_api

#endif  // TRELLIS_SRC_C_API_REPORT_H_
