#include "trellis/internal/text/blank_scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace trellis::internal {
namespace {

// Those that this machine can run.
std::vector<Isa> Isas() {
  std::vector<Isa> isas = {Isa::kPortable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) isas.push_back(Isa::kAvx2);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2")) {
    isas.push_back(Isa::kAvx512);
  }
#elif defined(__aarch64__)
  isas.push_back(Isa::kNeon);
#endif
  return isas;
}

struct Edges {
  std::vector<uint32_t> at;
  InRun in_run;
  friend bool operator==(const Edges&, const Edges&) = default;
};

// The definition: positions where being outside the set changes.
Edges Plain(std::string_view text, const std::vector<bool>& blank, uint32_t base, InRun in_run) {
  Edges edges{{}, in_run};
  for (size_t i = 0; i < text.size(); ++i) {
    const InRun now = blank[static_cast<uint8_t>(text[i])] ? InRun::kNo : InRun::kYes;
    if (now != edges.in_run) edges.at.push_back(base + static_cast<uint32_t>(i));
    edges.in_run = now;
  }
  return edges;
}

template <typename Scan>
Edges Scanned(std::string_view text, uint32_t base, InRun in_run, Scan&& scan) {
  // Exactly the room that the header asks for.
  std::vector<uint32_t> out(text.size() + kEdgeSlack, 0xDEADBEEF);
  const std::vector<char> exact(text.begin(), text.end());  // nothing readable behind
  const size_t count = scan(exact.data(), exact.size(), base, in_run, out.data());
  EXPECT_LE(count, text.size());
  out.resize(count);
  return {out, in_run};
}

class BlankScan : public testing::TestWithParam<Isa> {};

TEST_P(BlankScan, FindsWhatAPlainLoopFinds) {
  std::mt19937 random(8);
  for (int n = 0; n < 20000; ++n) {
    AsciiSet set;
    std::vector<bool> blank(256, false);
    for (uint32_t i = random() % 8; i > 0; --i) {
      const auto byte = static_cast<uint8_t>(n % 3 == 0 ? random() % 128 : std::string_view(" \t\n\r\x0b\x0c\x7f\0", 8)[random() % 8]);
      set.Add(byte);
      blank[byte] = true;
    }
    std::string text(random() % 301, '\0');
    const uint32_t taste = random() % 4;
    for (char& c : text) {
      c = static_cast<char>(taste == 0 ? random() : taste == 1 ? ' ' : random() % 3 == 0 ? " \t\n\x80"[random() % 4] : 'a' + random() % 26);
      if (taste == 1 && random() % 20 == 0) c = 'x';
    }
    const uint32_t base = random() % 2 == 0 ? 0 : static_cast<uint32_t>(random() % 0xF0000000u);
    const InRun before = random() % 2 == 0 ? InRun::kNo : InRun::kYes;
    const Edges got = Scanned(text, base, before, [&](const char* p, size_t size, uint32_t from, InRun& in_run, uint32_t* edges) {
      return FindEdgesWith(GetParam(), p, size, set, from, in_run, edges);
    });
    ASSERT_EQ(got, Plain(text, blank, base, before)) << "size " << text.size() << ": " << testing::PrintToString(text);
  }
}

// Every byte value alone, in and out of the set, at every place of a vector.
TEST_P(BlankScan, EveryByteEverywhere) {
  for (int byte = 0; byte < 256; ++byte) {
    AsciiSet set;
    std::vector<bool> blank(256, false);
    if (byte < 128) {
      set.Add(static_cast<uint8_t>(byte));
      blank[static_cast<size_t>(byte)] = true;
    } else {
      set.Add(static_cast<uint8_t>(byte & 0x7F));
      blank[static_cast<size_t>(byte & 0x7F)] = true;
    }
    EXPECT_EQ(set.Has(static_cast<uint8_t>(byte)), byte < 128);
    for (size_t place = 0; place < 130; place += place % 64 == 0 || place % 64 == 62 ? 1 : 31) {
      std::string text(130, byte == 'a' ? 'b' : 'a');
      text[place] = static_cast<char>(byte);
      const Edges got = Scanned(text, 0, InRun::kNo, [&](const char* p, size_t size, uint32_t from, InRun& in_run, uint32_t* edges) {
        return FindEdgesWith(GetParam(), p, size, set, from, in_run, edges);
      });
      ASSERT_EQ(got, Plain(text, blank, 0, InRun::kNo)) << byte << " at " << place;
    }
  }
}

// A text scanned in blocks, with the state carried, is the text scanned whole.
TEST_P(BlankScan, BlocksAreTheWhole) {
  AsciiSet set;
  set.Add(' ');
  std::mt19937 random(9);
  for (int n = 0; n < 2000; ++n) {
    std::string text(random() % 600, 'a');
    for (char& c : text) c = random() % 3 == 0 ? ' ' : 'a';
    const auto scan = [&](const char* p, size_t size, uint32_t from, InRun& in_run, uint32_t* edges) {
      return FindEdgesWith(GetParam(), p, size, set, from, in_run, edges);
    };
    const Edges whole = Scanned(text, 0, InRun::kNo, scan);
    Edges parts{{}, InRun::kNo};
    for (size_t at = 0; at < text.size();) {
      const size_t size = std::min<size_t>(1 + random() % 200, text.size() - at);
      const Edges part = Scanned(std::string_view(text).substr(at, size), static_cast<uint32_t>(at), parts.in_run, scan);
      parts.at.insert(parts.at.end(), part.at.begin(), part.at.end());
      parts.in_run = part.in_run;
      at += size;
    }
    ASSERT_EQ(parts, whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, BlankScan, testing::ValuesIn(Isas()),
                         [](const auto& isa) { return std::string(IsaName(isa.param)); });

TEST(BlankScanActive, IsOneOfThem) {
  AsciiSet set;
  set.Add(' ');
  const std::string text = "a  bc " + std::string(100, 'x') + " ";
  std::vector<bool> blank(256, false);
  blank[' '] = true;
  EXPECT_EQ(Scanned(text, 5, InRun::kNo, [&](const char* p, size_t size, uint32_t from, InRun& in_run, uint32_t* edges) {
    return FindEdges(p, size, set, from, in_run, edges);
  }), Plain(text, blank, 5, InRun::kNo));
}

}  // namespace
}  // namespace trellis::internal
