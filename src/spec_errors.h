// What a rejection of a spec reads like: `field: value, expected what`.
#ifndef TRELLIS_SRC_SPEC_ERRORS_H_
#define TRELLIS_SRC_SPEC_ERRORS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

inline std::string Index(std::string_view list, size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

inline std::string Quoted(std::string_view text) { return std::string(1, '"').append(text).append(1, '"'); }

inline absl::Status Invalid(const std::string& field, const std::string& value, std::string_view expected) {
  return absl::InvalidArgumentError(field + ": " + value + ", expected " + std::string(expected));
}

inline absl::Status NotSupported(const std::string& field, const std::string& value, std::string_view expected) {
  return absl::UnimplementedError(field + ": " + value + " is not supported yet, expected " +
                                  std::string(expected));
}

// Malformed input is matched as U+FFFD, so a string with one in it would have to
// match bytes that are not its own.
inline absl::Status CheckMatchedText(const std::string& field, const std::string& text) {
  if (!IsWellFormedUtf8(text)) return Invalid(field, "malformed UTF-8", "well-formed UTF-8");
  if (text.find("\uFFFD") != std::string::npos) return NotSupported(field, Quoted(text), "no U+FFFD in it");
  return absl::OkStatus();
}

// One character, as Metaspace wants it.
inline absl::Status CheckCharacter(const std::string& field, const std::string& text) {
  const bool one = !text.empty() && DecodeUtf8(text).well_formed && DecodeUtf8(text).length == text.size();
  return one ? absl::OkStatus() : Invalid(field, Quoted(text), "exactly one character");
}

absl::Status CheckCharsmap(const std::string& field, const std::string& charsmap);
absl::Status CheckRegex(const std::string& field, const std::string& pattern);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_SPEC_ERRORS_H_
