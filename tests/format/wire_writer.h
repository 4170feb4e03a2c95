// Writes the protobuf wire format, so that tests can make SentencePiece models
// that no trainer would, without the reader's own generated code.
#ifndef TRELLIS_TESTS_FORMAT_WIRE_WRITER_H_
#define TRELLIS_TESTS_FORMAT_WIRE_WRITER_H_

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace trellis::wire {

inline std::string Varint(uint64_t value) {
  std::string out;
  for (; value > 0x7F; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

inline std::string Number(uint32_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }

inline std::string Bytes(uint32_t field, std::string_view bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

inline std::string Float(uint32_t field, float value) {
  std::string out = Varint(field << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(bits >> shift));
  return out;
}

}  // namespace trellis::wire

#endif  // TRELLIS_TESTS_FORMAT_WIRE_WRITER_H_
