// Compiled files made to do harm: the input is a list of changes to a small file,
// after which all checksums are made right again, so that what is believed of a
// section is what this looks at. Each is refused with a place, or is a tokenizer
// that takes any text within the room that it promises.
//
//   byte 0        which small model; bit 7: the input's rest is the file itself
//   then, by 8:   target (a section, or the list of them), width, place u32, value u16
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/encode_and_decode.h"
#include "tests/reference/compiled_layout.h"
#include "trellis/internal/compiled.h"
#include "trellis/trellis.h"

namespace {

using std::string_view_literals::operator""sv;
using trellis::Tokenizer;
using trellis::TokenizerSpec;

// Rules "!" to "a" and "A" to "bcab", as darts-clone has them.
std::string Charsmap() {
  std::vector<uint32_t> units(128, 0);
  const auto rule = [&](uint8_t key, uint32_t leaf, uint32_t value) {
    units[1u ^ key] = key | 1u << 8 | (1u ^ key ^ leaf) << 10;
    units[leaf] = 1u << 31 | value;
  };
  units[0] = 1u << 10;
  rule('!', 100, 0);
  rule('A', 102, 2);
  std::string blob;
  const auto put = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) blob.push_back(static_cast<char>(value >> shift));
  };
  put(static_cast<uint32_t>(units.size() * sizeof(uint32_t)));
  for (const uint32_t unit : units) put(unit);
  return blob + std::string("a\0bcab", 6);
}

enum class Shape { kWords, kMarkers, kPlain, kSummed };

TokenizerSpec Spec(Shape shape) {
  TokenizerSpec spec;
  const char* pieces[] = {"<s>",     "</s>",     "<unk>", "\u2581", "a",      "b",      "c",      "ab",
                          "\u2581a", "\u2581ab", "bc",    ",",      "\u00e9", "\u4e00", "\u2581b"};
  double score = 0.0;
  for (const char* piece : pieces) spec.model.pieces.push_back({piece, score -= 0.37});
  spec.model.unk_id = 2;
  for (int i = 0; i < 3; ++i)
    spec.added_tokens.push_back({.content = pieces[i], .id = i, .lstrip = i == 1, .special = true});
  if (shape == Shape::kSummed) {
    spec.dialect = trellis::Dialect::kSentencePiece;
    for (size_t i = 0; i < 3; ++i) {
      spec.model.pieces[i].type = i == 2 ? trellis::PieceType::kUnknown : trellis::PieceType::kControl;
    }
    spec.normalizers = {trellis::SentencePieceNormalizer{Charsmap()}};
    spec.decoders = {trellis::SentencePieceDecoder{}};
    return spec;
  }
  spec.normalizers = {trellis::PrecompiledNormalizer{Charsmap()}};
  spec.pre_tokenizers = {trellis::MetaspacePreTokenizer{}};
  if (shape == Shape::kWords)
    spec.pre_tokenizers.insert(spec.pre_tokenizers.begin(), trellis::WhitespaceSplitPreTokenizer{});
  if (shape == Shape::kPlain) spec.pre_tokenizers.push_back(trellis::PunctuationPreTokenizer{});
  spec.decoders = {trellis::MetaspaceDecoder{}};
  return spec;
}

const std::string& File(size_t shape) {
  static const std::array<std::string, 4> files = [] {
    std::array<std::string, 4> out;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = trellis::internal::CompiledBytes(Spec(static_cast<Shape>(i))).value();
    return out;
  }();
  return files[shape];
}

void Change(std::string& file, const uint8_t* change) {
  using trellis::reference::CompiledSection;
  const std::vector<CompiledSection> sections = trellis::reference::SectionsOf(file);
  const size_t target = change[0] % (sections.size() + 1);
  size_t begin = trellis::reference::kSectionCountAt,
         bytes = sections.size() * trellis::reference::kEntryBytes + 16;
  if (target < sections.size()) {
    begin = sections[target].begin;
    bytes = sections[target].bytes;
    if (begin > file.size() || bytes > file.size() - begin) return;
  }
  const size_t width = size_t{1} << change[1] % 4;
  if (bytes < width) return;
  uint32_t place;
  uint16_t value;
  std::memcpy(&place, change + 2, sizeof place);
  std::memcpy(&value, change + 6, sizeof value);
  const int64_t wide =
      (change[1] & 0x80) != 0 ? static_cast<int16_t>(value) : value;  // small, or near the highest
  std::memcpy(file.data() + begin + place % (bytes / width) * width, &wide, width);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kChange = 8;
  if (size == 0) return 0;
  std::string file;
  if ((data[0] & 0x80) != 0) {
    file.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
  } else {
    file = File(data[0] % 4);
    for (size_t at = 1; at + kChange <= size; at += kChange) Change(file, data + at);
  }
  trellis::reference::Reseal(file);
  const absl::StatusOr<Tokenizer> tokenizer = trellis::internal::TokenizerOfCompiledBytes(file);
  if (!tokenizer.ok()) {
    const std::string_view message(tokenizer.status().message().data(), tokenizer.status().message().size());
    trellis::fuzz::Require(message.starts_with("byte ") || message.starts_with("section "));
    return 0;
  }
  static const std::string kLong =
      std::string(300, 'a') + std::string(1200, '!') + "A\u4e00" + std::string(40, 'c');
  for (const std::string_view text :
       {"ab a, ab. <s>\u2581b \xFF\xE2\x96 A!  bc"sv, std::string_view(kLong),
        std::string_view(reinterpret_cast<const char*>(data), size < 200 ? size : 200)}) {
    trellis::fuzz::EncodeAndDecode(*tokenizer, text);
  }
  return 0;
}
