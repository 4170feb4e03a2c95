#include "trellis/internal/text/blank_scan.h"

#include <bit>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own AVX-512 headers trip these in every file that uses them.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace trellis::internal {
namespace {

using Kernel = size_t (*)(const char*, size_t, const AsciiSet&, uint32_t, InRun&, uint32_t*);

size_t Portable(const char* text, size_t size, const AsciiSet& blanks, uint32_t base, InRun& in_run,
                uint32_t* edges) {
  size_t count = 0;
  bool inside = in_run == InRun::kYes;
  for (size_t i = 0; i < size; ++i) {
    const bool now = !blanks.Has(static_cast<uint8_t>(text[i]));
    edges[count] = base + static_cast<uint32_t>(i);
    count += now != inside;
    inside = now;
  }
  in_run = inside ? InRun::kYes : InRun::kNo;
  return count;
}

// Bits of `mask` as positions, appended.
inline size_t AppendBits(uint64_t mask, uint32_t base, uint32_t* edges, size_t count) {
  while (mask != 0) {
    edges[count++] = base + static_cast<uint32_t>(std::countr_zero(mask));
    mask &= mask - 1;
  }
  return count;
}

#if defined(__x86_64__)

// Both kernels: a shuffle by the low nibble gives the set's bits for all high
// nibbles (and 0 for bytes above 0x7F), a shuffle by the high nibble the bit to
// test.
constexpr int kHighBits[16] = {1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0};

__attribute__((target("avx2,bmi,bmi2"))) size_t Avx2(const char* text, size_t size, const AsciiSet& blanks,
                                                     uint32_t base, InRun& in_run, uint32_t* edges) {
  const __m256i low_table =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blanks.by_low_nibble.data())));
  const auto h = [](int i) { return static_cast<char>(kHighBits[i]); };
  const __m256i high_table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
      h(0), h(1), h(2), h(3), h(4), h(5), h(6), h(7), h(8), h(9), h(10), h(11), h(12), h(13), h(14), h(15)));
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i zero = _mm256_setzero_si256();
  uint64_t carry = in_run == InRun::kYes ? 1 : 0;
  size_t count = 0;
  size_t at = 0;
  for (; at + 64 <= size; at += 64) {
    uint64_t runs = 0;
    for (int half = 0; half < 2; ++half) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + at + 32 * half));
      const __m256i set = _mm256_shuffle_epi8(low_table, x);
      const __m256i bit = _mm256_shuffle_epi8(high_table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
      const __m256i outside = _mm256_cmpeq_epi8(_mm256_and_si256(set, bit), zero);
      runs |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(outside))) << (32 * half);
    }
    const uint64_t changes = runs ^ (runs << 1 | carry);
    carry = runs >> 63;
    count = AppendBits(changes, base + static_cast<uint32_t>(at), edges, count);
  }
  in_run = carry != 0 ? InRun::kYes : InRun::kNo;
  return count + Portable(text + at, size - at, blanks, base + static_cast<uint32_t>(at), in_run, edges + count);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt"))) size_t Avx512(
    const char* text, size_t size, const AsciiSet& blanks, uint32_t base, InRun& in_run, uint32_t* edges) {
  const __m512i low_table =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blanks.by_low_nibble.data())));
  const auto h = [](int i) { return static_cast<char>(kHighBits[i]); };
  const __m512i high_table = _mm512_broadcast_i32x4(_mm_setr_epi8(
      h(0), h(1), h(2), h(3), h(4), h(5), h(6), h(7), h(8), h(9), h(10), h(11), h(12), h(13), h(14), h(15)));
  const __m512i nibble = _mm512_set1_epi8(15);
  alignas(64) static constexpr uint8_t kIota[64] = {
      0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
      44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const __m512i iota = _mm512_load_si512(kIota);
  uint64_t carry = in_run == InRun::kYes ? 1 : 0;
  size_t count = 0;
  for (size_t at = 0; at < size; at += 64) {
    const size_t left = size - at;
    const uint64_t valid = left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
    const __m512i x = _mm512_maskz_loadu_epi8(valid, text + at);
    const __m512i set = _mm512_shuffle_epi8(low_table, x);
    const __m512i bit = _mm512_shuffle_epi8(high_table, _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble));
    const uint64_t runs = ~_mm512_test_epi8_mask(set, bit);
    const uint64_t changes = (runs ^ (runs << 1 | carry)) & valid;
    carry = left >= 64 ? runs >> 63 : runs >> (left - 1) & 1;
    // The changed positions, compressed and widened, 16 a store.
    const __m512i at_bits = _mm512_maskz_compress_epi8(changes, iota);
    const __m512i first = _mm512_set1_epi32(static_cast<int>(base + static_cast<uint32_t>(at)));
    const auto found = static_cast<size_t>(std::popcount(changes));
    uint32_t* out = edges + count;
    _mm512_storeu_si512(out, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(at_bits))));
    if (found > 16) {
      _mm512_storeu_si512(out + 16, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at_bits, 1))));
    }
    if (found > 32) {
      _mm512_storeu_si512(out + 32, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at_bits, 2))));
      _mm512_storeu_si512(out + 48, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at_bits, 3))));
    }
    count += found;
  }
  in_run = carry != 0 ? InRun::kYes : InRun::kNo;
  return count;
}

#elif defined(__aarch64__)
// Compilers vectorize little here; the portable kernel's branch-free loop is
// what there is until one is measured to be better.
#endif

Kernel Pick(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return Avx512;
  if (isa == Isa::kAvx2) return Avx2;
#endif
  (void)isa;
  return Portable;
}

}  // namespace

size_t FindEdges(const char* text, size_t size, const AsciiSet& blanks, uint32_t base, InRun& in_run,
                 uint32_t* edges) {
  static const Kernel kernel = Pick(ActiveIsa());
  return kernel(text, size, blanks, base, in_run, edges);
}

size_t FindEdgesWith(Isa isa, const char* text, size_t size, const AsciiSet& blanks, uint32_t base, InRun& in_run,
                     uint32_t* edges) {
  return Pick(isa)(text, size, blanks, base, in_run, edges);
}

}  // namespace trellis::internal
