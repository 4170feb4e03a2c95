// Any bytes through Encode and Decode of small models: no crash, and the path
// with shortcuts agrees with the plain one. The first byte picks model and
// options. The rest is also taken for ids, which every decoder must stand.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/trellis.h"

namespace {

using trellis::Tokenizer;

// A double array of darts-clone units is not easily written by hand; the real
// charsmap is committed.
std::string Charsmap() {
  std::string path = TRELLIS_SOURCE_DIR "/third_party/xlm_roberta_charsmap/xlm_roberta.charsmap";
  std::string bytes;
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    char buffer[4096];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) bytes.append(buffer, n);
    std::fclose(file);
  }
  if (bytes.empty()) std::abort();
  return bytes;
}

trellis::TokenizerSpec Spec(bool charsmap) {
  trellis::TokenizerSpec spec;
  const char* pieces[] = {"<s>", "<pad>", "</s>", "<unk>", "\u2581", "a", "b", "ab", "\u2581a", "\u2581ab", "abc", "c",
                          "\u2581abc", ",", ".", "\u00e9", "\u0301", "e", "\u2581e", "\u4e00", "\u4e00\u4e8c", "n", "nn",
                          "nnn", "\u2581n", "<", "s", ">", "\u30ab", "\u3099", "1", "\u2581<s>"};
  double score = 0.0;
  for (const char* piece : pieces) spec.model.pieces.push_back({piece, score -= 0.37});
  for (int i = 0; i < 4; ++i) spec.model.pieces[static_cast<size_t>(i)].score = 0.0;
  spec.model.unk_id = 3;
  for (int i = 0; i < 4; ++i) {
    spec.added_tokens.push_back({.content = pieces[i], .id = i, .lstrip = i == 1, .special = true});
  }
  if (charsmap) spec.normalizers.push_back(trellis::PrecompiledNormalizer{Charsmap()});
  spec.pre_tokenizers = {trellis::WhitespaceSplitPreTokenizer{}, trellis::MetaspacePreTokenizer{}};
  spec.decoders = {trellis::MetaspaceDecoder{}};
  return spec;
}

struct Pair {
  Tokenizer fast;
  Tokenizer plain;
};
const Pair& Model(bool charsmap) {
  const auto make = [](bool with) {
    return Pair{Tokenizer::Create(Spec(with)).value(), Tokenizer::Create(Spec(with), {.shortcuts = false}).value()};
  };
  static const Pair with = make(true), without = make(false);
  return charsmap ? with : without;
}

// A chain of all decoders that work on lists, over pieces that mean something to
// them.
Tokenizer ListDecoder() {
  trellis::TokenizerSpec spec;
  const char* pieces[] = {"<unk>", "<0x41>", "<0xC3>", "<0xA9>", "<0xFF>", "\u2581", "\u2581a", "a", "aa", "##b", " .", "b ", "", "<0x"};
  double score = 0.0;
  for (const char* piece : pieces) spec.model.pieces.push_back({piece, score -= 1.0});
  spec.model.unk_id = 0;
  spec.added_tokens.push_back({.content = "<unk>", .id = 0, .special = true});
  spec.decoders = {trellis::ReplaceDecoder{"aa", false, "\u2581a\u2581"}, trellis::ByteFallbackDecoder{},
                   trellis::WordPieceDecoder{"##", true}, trellis::MetaspaceDecoder{}, trellis::FuseDecoder{},
                   trellis::ReplaceDecoder{"b", false, "bbbb"}, trellis::StripDecoder{" ", 1, 1}};
  return Tokenizer::Create(std::move(spec)).value();
}

void Decode(std::string_view bytes) {
  static const Tokenizer tokenizer = ListDecoder();
  std::vector<trellis::TokenId> ids;
  for (const char byte : bytes) ids.push_back(static_cast<trellis::TokenId>(static_cast<uint8_t>(byte) % 17) - 1);
  std::vector<char> memory(tokenizer.DecodedBytes(ids));
  const trellis::DecodeOptions options{.skip_special_tokens = ids.size() % 2 == 0, .clean_up = ids.size() % 3 == 0};
  const auto text = tokenizer.Decode(ids, options, memory);
  if (absl::IsResourceExhausted(text.status())) std::abort();  // DecodedBytes is enough
  if (ids.size() > 64) return;  // a stream may keep all its ids
  trellis::DecodeStream stream(tokenizer, options, 1);
  for (const trellis::TokenId id : ids) (void)stream.Step(id);
  (void)stream.Finish();
}

trellis::EncodedText Encode(const Tokenizer& tokenizer, std::string_view text, const trellis::EncodeOptions& options) {
  thread_local trellis::Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(text.size()));
  trellis::EncodedText out;
  out.ids.resize(tokenizer.MaxTokens(text.size()));
  out.offsets.resize(out.ids.size());
  const auto encoding = tokenizer.Encode(trellis::Input{text}, options, scratch, {.ids = out.ids, .offsets = out.offsets});
  if (!encoding.ok()) std::abort();  // ScratchBytes and MaxTokens are enough
  out.ids.resize(encoding->ids.size());
  out.offsets.resize(encoding->ids.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 4096) return 0;
  const uint8_t choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Pair& model = Model((choice & 1) != 0);
  trellis::EncodeOptions options;
  options.add_special_tokens = (choice & 2) != 0;
  options.match_special_tokens = (choice & 4) != 0;
  options.encode_special_tokens = (choice & 8) != 0;
  const trellis::EncodedText want = Encode(model.plain, text, options);
  for (int again = 0; again < 2; ++again) {
    const trellis::EncodedText got = Encode(model.fast, text, options);
    if (got.ids != want.ids || got.offsets != want.offsets) std::abort();
  }
  for (size_t i = 0; i < want.ids.size(); ++i) {
    if (want.offsets[i].begin > want.offsets[i].end || want.offsets[i].end > text.size()) std::abort();
    if (!options.match_special_tokens && want.ids[i] < 3) std::abort();
  }
  (void)model.plain.Decode(want.ids, {});
  Decode(text);
  return 0;
}
