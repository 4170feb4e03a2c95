// JSON numbers as serde_json reads them without its float_roundtrip feature,
// which is how tokenizers is built: the digits as one u64, one conversion to
// double, one multiplication or division by a power of ten. That is not correct
// rounding (strtod, simdjson): a quarter of XLM-RoBERTa's scores come out one
// unit beside the nearest double, and ties between segmentations hang on it.
#ifndef TRELLIS_SRC_FORMAT_SERDE_NUMBER_H_
#define TRELLIS_SRC_FORMAT_SERDE_NUMBER_H_

#include <cstdint>
#include <string_view>

namespace trellis::internal {

struct SerdeNumber {
  enum class Kind : uint8_t {
    kUnsigned,    // digits only, fits u64: `integer` is exact
    kNegative,    // minus and digits only, fits i64
    kFloat,       // everything else that is a number, also "-0"
    kOutOfRange,  // JSON grammar is met, but the value is beyond double
    kMalformed,   // not a JSON number
  };
  Kind kind = Kind::kMalformed;
  uint64_t integer = 0;  // kUnsigned only
  double value = 0.0;    // kUnsigned, kNegative, kFloat

  bool ok() const { return kind < Kind::kOutOfRange; }
};

// `token` must be the whole number and nothing else.
SerdeNumber ParseSerdeNumber(std::string_view token);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_FORMAT_SERDE_NUMBER_H_
