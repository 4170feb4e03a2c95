// A charsmap of given rules: the double array that SentencePiece's trainer writes
// (charsmap.h says the form), made slowly. For tests that want rules of their own.
#ifndef TRELLIS_TESTS_REFERENCE_SMALL_CHARSMAP_H_
#define TRELLIS_TESTS_REFERENCE_SMALL_CHARSMAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace trellis::reference {

class SmallCharsmap {
 public:
  // Keys are not empty and have no byte 0.
  static std::string Of(const std::map<std::string, std::string>& rules) {
    SmallCharsmap made;
    std::vector<Rule> all;
    for (const auto& [key, replacement] : rules) {
      all.push_back({key, static_cast<uint32_t>(made.replacements_.size())});
      made.replacements_ += replacement + '\0';
    }
    made.units_.resize(256);
    made.used_.resize(256, false);
    made.used_[0] = true;
    made.Place(0, all, 0);
    std::string blob;
    const auto put = [&blob](uint32_t value) {
      for (int shift = 0; shift < 32; shift += 8) blob += static_cast<char>(value >> shift & 0xFF);
    };
    put(static_cast<uint32_t>(made.units_.size() * 4));
    for (const uint32_t unit : made.units_) put(unit);
    return blob + made.replacements_;
  }

 private:
  struct Rule {
    std::string key;
    uint32_t at;  // of its replacement
  };

  // A base is one node's alone, or its children would be another's too.
  bool IsFree(size_t base, const std::map<uint8_t, std::vector<Rule>>& children) {
    if (bases_.contains(base)) return false;
    for (const auto& [byte, rules] : children) {
      const size_t slot = base ^ byte;
      if (slot < used_.size() && used_[slot]) return false;
    }
    return true;
  }

  // The children of the unit at `index`, whose keys agree in `depth` bytes.
  void Place(size_t index, const std::vector<Rule>& rules, size_t depth) {
    std::map<uint8_t, std::vector<Rule>> children;  // 0: the leaf
    for (const Rule& rule : rules) {
      children[depth < rule.key.size() ? static_cast<uint8_t>(rule.key[depth]) : 0].push_back(rule);
    }
    size_t base = 1;
    while (!IsFree(base, children)) ++base;
    bases_.insert(base);
    units_[index] |= static_cast<uint32_t>(index ^ base) << 10;
    for (const auto& [byte, below] : children) {
      const size_t slot = base ^ byte;
      if (slot >= units_.size()) {
        units_.resize((slot / 256 + 1) * 256);
        used_.resize(units_.size(), false);
      }
      used_[slot] = true;
      units_[slot] = byte;
      if (byte == 0) {
        units_[index] |= 1u << 8;
        units_[slot] = below.front().at | 1u << 31;
      }
    }
    for (const auto& [byte, below] : children) {
      if (byte != 0) Place(base ^ byte, below, depth + 1);
    }
  }

  std::vector<uint32_t> units_;
  std::vector<bool> used_;
  std::set<size_t> bases_;
  std::string replacements_;
};

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_SMALL_CHARSMAP_H_
