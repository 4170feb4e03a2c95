#include "src/format/serde_number.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace trellis::internal {
namespace {

// A literal is the nearest double, so the table is built from literals: products
// of ten would not be.
#define TRELLIS_TEN(h) \
  1e##h##0, 1e##h##1, 1e##h##2, 1e##h##3, 1e##h##4, 1e##h##5, 1e##h##6, 1e##h##7, 1e##h##8, 1e##h##9
#define TRELLIS_HUNDRED(h)                                                                       \
  TRELLIS_TEN(h##0), TRELLIS_TEN(h##1), TRELLIS_TEN(h##2), TRELLIS_TEN(h##3), TRELLIS_TEN(h##4), \
      TRELLIS_TEN(h##5), TRELLIS_TEN(h##6), TRELLIS_TEN(h##7), TRELLIS_TEN(h##8), TRELLIS_TEN(h##9)
// clang-format off
constexpr std::array<double, 309> kPowersOfTen = {
    TRELLIS_HUNDRED(0), TRELLIS_HUNDRED(1), TRELLIS_HUNDRED(2),
    1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307, 1e308};
// clang-format on
#undef TRELLIS_HUNDRED
#undef TRELLIS_TEN
constexpr int64_t kLargestPower = kPowersOfTen.size() - 1;

constexpr uint64_t kMaxSignificand = std::numeric_limits<uint64_t>::max();
constexpr int64_t kMaxExponent = std::numeric_limits<int32_t>::max();
constexpr int64_t kMinExponent = std::numeric_limits<int32_t>::min();

// Reads a token's digits; the position never passes the end.
class Digits {
 public:
  explicit Digits(std::string_view text) : text_(text) {}
  bool AtEnd() const { return at_ == text_.size(); }
  bool AtDigit() const { return !AtEnd() && text_[at_] >= '0' && text_[at_] <= '9'; }
  bool At(char c) const { return !AtEnd() && text_[at_] == c; }
  bool Skip(char c) { return At(c) && (++at_, true); }
  unsigned Take() { return static_cast<unsigned>(text_[at_++] - '0'); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

bool Overflows(uint64_t value, unsigned digit, uint64_t max) {
  return value > max / 10 || (value == max / 10 && digit > max % 10);
}

SerdeNumber Float(bool negative, double magnitude) {
  return {SerdeNumber::Kind::kFloat, 0, negative ? -magnitude : magnitude};
}

SerdeNumber OutOfRange() { return {SerdeNumber::Kind::kOutOfRange, 0, 0.0}; }

// serde_json's f64_from_parts.
SerdeNumber FromParts(bool negative, uint64_t significand, int64_t exponent) {
  auto f = static_cast<double>(significand);
  while (exponent < -kLargestPower || exponent > kLargestPower) {
    if (f == 0.0) return Float(negative, f);
    if (exponent > 0) return OutOfRange();
    f /= kPowersOfTen[kLargestPower];
    exponent += kLargestPower;
  }
  if (exponent >= 0) {
    f *= kPowersOfTen[static_cast<size_t>(exponent)];
    if (std::isinf(f)) return OutOfRange();
  } else {
    f /= kPowersOfTen[static_cast<size_t>(-exponent)];
  }
  return Float(negative, f);
}

}  // namespace

SerdeNumber ParseSerdeNumber(std::string_view token) {
  constexpr SerdeNumber kMalformed;
  Digits in(token);
  const bool negative = in.Skip('-');
  if (!in.AtDigit()) return kMalformed;

  uint64_t significand = in.Take();
  int64_t exponent = 0;
  bool is_integer = true;
  if (significand == 0) {
    if (in.AtDigit()) return kMalformed;  // no leading zeros
  } else {
    while (in.AtDigit()) {
      const unsigned digit = in.Take();
      // From the first digit that does not fit on, each only scales.
      if (!is_integer || Overflows(significand, digit, kMaxSignificand)) {
        is_integer = false;
        ++exponent;
      } else {
        significand = significand * 10 + digit;
      }
    }
  }
  if (in.Skip('.')) {
    is_integer = false;
    if (!in.AtDigit()) return kMalformed;
    // From the first digit that does not fit on, all are ignored. A significand
    // that was already full above can still take a digit here, as in serde_json.
    bool full = false;
    while (in.AtDigit()) {
      const unsigned digit = in.Take();
      full = full || Overflows(significand, digit, kMaxSignificand);
      if (full) continue;
      significand = significand * 10 + digit;
      --exponent;
    }
  }
  if (in.Skip('e') || in.Skip('E')) {
    is_integer = false;
    const bool exponent_negative = in.Skip('-');
    if (!exponent_negative) in.Skip('+');
    if (!in.AtDigit()) return kMalformed;
    uint64_t written = in.Take();
    bool saturated = false;
    while (in.AtDigit()) {
      const unsigned digit = in.Take();
      saturated = saturated || Overflows(written, digit, kMaxExponent);
      if (!saturated) written = written * 10 + digit;
    }
    if (!in.AtEnd()) return kMalformed;
    if (saturated) {
      if (significand != 0 && !exponent_negative) return OutOfRange();
      return Float(negative, 0.0);
    }
    exponent += exponent_negative ? -static_cast<int64_t>(written) : static_cast<int64_t>(written);
    if (exponent > kMaxExponent) exponent = kMaxExponent;
    if (exponent < kMinExponent) exponent = kMinExponent;
  }
  if (!in.AtEnd()) return kMalformed;
  if (!is_integer) return FromParts(negative, significand, exponent);

  const auto magnitude = static_cast<double>(significand);
  if (!negative) return {SerdeNumber::Kind::kUnsigned, significand, magnitude};
  constexpr uint64_t kMinI64 = uint64_t{1} << 63;
  if (significand == 0 || significand > kMinI64) return Float(true, magnitude);
  return {SerdeNumber::Kind::kNegative, 0, -magnitude};
}

}  // namespace trellis::internal
