// The SentencePiece dialect against goldens of the wheel sentencepiece 0.2.3
// (tools/make_sp_golden): ids, byte offsets and decoding, for small models of
// every flag and for the demo model; and fairseq's numbering.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/golden/golden_check.h"
#include "tests/golden/sp_case.h"
#include "trellis/load.h"

namespace trellis::golden {
namespace {

constexpr char kFolder[] = TRELLIS_SOURCE_DIR "/tests/golden/";

// The .model beside the demo model's tokenizer.json.
std::string DemoModelFile() {
  std::filesystem::path path = ModelPath();
  if (!std::filesystem::is_directory(path)) path = path.parent_path();
  return (path / "sentencepiece.bpe.model").string();
}

Tokenizer LoadOrDie(const std::string& path, const LoadOptions& options = {}) {
  absl::StatusOr<Tokenizer> tokenizer = LoadTokenizer(path, options);
  if (tokenizer.ok()) return *std::move(tokenizer);
  ADD_FAILURE() << tokenizer.status()
                << "\nIf the model is not there: tools/fetch_model --tokenizer-only puts it into "
                << "models/; TRELLIS_MODEL names another place.";
  std::exit(1);
}

std::string Check(const Tokenizer& tokenizer, const SpCase& golden) {
  std::string out;
  if (golden.has_encoding) {
    // Not shared between texts: what ScratchBytes promises must be enough for each.
    Scratch scratch;
    scratch.Reserve(tokenizer.ScratchBytes(golden.text.size()));
    const size_t most = tokenizer.MaxTokens(golden.text.size());
    std::vector<TokenId> ids(most);
    std::vector<Offset> offsets(most);
    const EncodeOptions options{.add_special_tokens = false};
    const absl::StatusOr<Encoding> got =
        tokenizer.Encode({.text = golden.text}, options, scratch, {.ids = ids, .offsets = offsets});
    if (!got.ok()) return "  " + got.status().ToString() + "\n";
    out += Difference("ids", got->ids, golden.ids) + Difference("offsets", got->offsets, golden.offsets);
    const EncodeOptions shielded{.add_special_tokens = false, .match_special_tokens = false};
    const absl::StatusOr<EncodedText> shield = tokenizer.Encode({.text = golden.text}, shielded);
    if (!shield.ok()) return out + "  shielded: " + shield.status().ToString() + "\n";
    out += Difference("ids with the shield", shield->ids, golden.ids);
    for (const TokenId id : golden.ids) {
      const bool unknown = tokenizer.vocab().unk_id() == id;
      if (!unknown && tokenizer.vocab().IsSpecial(id))
        out += "  special id " + std::to_string(id) + " out of text\n";
    }
  }
  std::vector<char> room(tokenizer.DecodedBytes(golden.ids));
  const absl::StatusOr<std::string_view> decoded = tokenizer.Decode(golden.ids, {}, room);
  if (!decoded.ok()) return out + "  decoding: " + decoded.status().ToString() + "\n";
  if (*decoded != golden.decoded) {
    out += "  decoded: got \"" + std::string(*decoded) + "\", want \"" + golden.decoded + "\"\n";
  }
  return out;
}

// Fails once, with the first differences.
void CheckSpCases(const Tokenizer& tokenizer, const std::vector<SpCase>& cases, const std::string& what) {
  constexpr size_t kShown = 10;
  size_t different = 0;
  std::string shown;
  for (const SpCase& golden : cases) {
    const std::string difference = Check(tokenizer, golden);
    if (difference.empty()) continue;
    if (++different <= kShown) shown += golden.name + "\n" + difference;
  }
  EXPECT_EQ(different, 0u) << what << ": " << different << " of " << cases.size()
                           << " cases differ; the first:\n"
                           << shown;
}

// The tables that serve this dialect: those of golden_check.h with shortcuts.
const Variant* const kTables[] = {&kVariants[0], &kVariants[1], &kVariants[4]};

Tokenizer MakeOrDie(const std::string& path, const Variant& variant) {
  const absl::StatusOr<TokenizerSpec> spec = LoadSpec(path);
  absl::StatusOr<Tokenizer> tokenizer = spec.ok() ? Make(*spec, variant) : spec.status();
  if (tokenizer.ok()) return *std::move(tokenizer);
  ADD_FAILURE() << tokenizer.status();
  return LoadOrDie(path);
}

TEST(SentencePieceGolden, SmallModelsMatchReference) {
  std::map<std::string, std::vector<SpCase>> by_model;
  for (SpCase& golden : ReadSpCases(std::string(kFolder) + "sp_small.jsonl")) {
    by_model[golden.model].push_back(std::move(golden));
  }
  EXPECT_GE(by_model.size(), 19u) << "the golden file has lost models";
  for (const auto& [model, cases] : by_model) {
    EXPECT_GT(cases.size(), 150u) << model << " has lost cases";
    for (const Variant* const tables : kTables) {
      const Tokenizer tokenizer = MakeOrDie(kFolder + ("sp_models/" + model) + ".model", *tables);
      CheckSpCases(tokenizer, cases, model + ", " + tables->name);
    }
  }
}

TEST(SentencePieceGolden, DemoModelMatchesReference) {
  const std::vector<SpCase> cases = ReadSpCases(std::string(kFolder) + "sp_xlmr.jsonl");
  EXPECT_GT(cases.size(), 700u) << "the golden file has lost cases";
  for (const Variant* const tables : kTables) {
    CheckSpCases(MakeOrDie(DemoModelFile(), *tables), cases, std::string("demo model, ") + tables->name);
  }
}

// fairseq's numbering is a renaming of ids and nothing else.
TEST(SentencePieceGolden, FairseqRenumbers) {
  std::vector<SpCase> cases = ReadSpCases(std::string(kFolder) + "sp_xlmr.jsonl");
  constexpr TokenId kHeads[] = {3, 0, 2};  // <unk>, <s>, </s> of the file
  for (SpCase& golden : cases) {
    for (TokenId& id : golden.ids) id = id < 3 ? kHeads[id] : id + 1;
  }
  const Tokenizer tokenizer = LoadOrDie(DemoModelFile(), {.sentencepiece = {.fairseq = true}});
  CheckSpCases(tokenizer, cases, "demo model, fairseq");
  // <pad> and <mask>, which the file does not have, leave nothing either.
  EXPECT_EQ(tokenizer.vocab().size(), 250002);
  EXPECT_EQ(tokenizer.vocab().Text(1), "<pad>");
  EXPECT_EQ(tokenizer.vocab().Text(250001), "<mask>");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{0, 1, 250001, 2}), "");
}

// XLM-RoBERTa's template around both texts.
TEST(SentencePieceGolden, FairseqTemplate) {
  const Tokenizer tokenizer = LoadOrDie(DemoModelFile(), {.sentencepiece = {.fairseq = true}});
  const EncodeOptions bare{.add_special_tokens = false};
  const std::vector<TokenId> a = tokenizer.Encode({.text = "green tea"}, bare)->ids;
  const std::vector<TokenId> b = tokenizer.Encode({.text = "hot water"}, bare)->ids;
  // From the case "pair" of the Hugging Face goldens.
  EXPECT_EQ(a, (std::vector<TokenId>{50997, 26156}));
  EXPECT_EQ(b, (std::vector<TokenId>{8010, 7401}));
  EXPECT_EQ(tokenizer.Encode("green tea")->ids, (std::vector<TokenId>{0, 50997, 26156, 2}));
  const absl::StatusOr<EncodedText> pair = tokenizer.Encode({.text = "green tea", .pair = "hot water"});
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->ids, (std::vector<TokenId>{0, 50997, 26156, 2, 2, 8010, 7401, 2}));
  EXPECT_EQ(pair->type_ids, std::vector<uint8_t>(8, 0));
  EXPECT_EQ(pair->special_tokens_mask, (std::vector<uint8_t>{1, 0, 0, 1, 1, 0, 0, 1}));
}

// A scratch or a buffer that is too small is an error, whatever its size.
TEST(SentencePieceGolden, TooLittleRoomIsAnError) {
  for (const char* model : {"bytes", "denormalizer", "symbols_rules"}) {
    const Tokenizer tokenizer = LoadOrDie(kFolder + (std::string("sp_models/") + model) + ".model");
    const std::string text = "hello \xE4\xB8\xAD\xEF\xB7\xBA <tag> hello";
    const EncodedText want = *tokenizer.Encode(text);
    std::vector<TokenId> ids(want.ids.size());
    Scratch full;
    full.Reserve(tokenizer.ScratchBytes(text.size()));
    ASSERT_TRUE(tokenizer.Encode({.text = text}, {}, full, {.ids = ids}).ok());
    for (size_t bytes = 0; bytes < full.high_water(); bytes += 64) {
      std::vector<std::byte> memory(bytes);
      Scratch small{std::span<std::byte>(memory)};
      EXPECT_TRUE(
          absl::IsResourceExhausted(tokenizer.Encode({.text = text}, {}, small, {.ids = ids}).status()))
          << bytes;
    }
    for (size_t room = 0; room < ids.size(); ++room) {
      EXPECT_TRUE(absl::IsResourceExhausted(
          tokenizer.Encode({.text = text}, {}, full, {.ids = std::span(ids).first(room)}).status()))
          << room;
    }
    const std::string decoded = tokenizer.Decode(want.ids);
    for (size_t room = 0; room < decoded.size(); ++room) {
      std::vector<char> out(room);
      EXPECT_TRUE(absl::IsResourceExhausted(tokenizer.Decode(want.ids, {}, out).status())) << room;
    }
  }
}

// TRELLIS_CASES: what SentencePiece says of each case, in fairseq's numbering.
class SentencePieceCases : public testing::TestWithParam<const char*> {};

TEST_P(SentencePieceCases, SpIdsMatchReference) {
  const char* folder = std::getenv("TRELLIS_CASES");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "SKIPPED: TRELLIS_CASES is not set, so sp_ids of the further cases of " << GetParam()
                 << " are not checked";
  }
  const Tokenizer tokenizer = LoadOrDie(DemoModelFile(), {.sentencepiece = {.fairseq = true}});
  const std::string path = std::string(folder) + "/" + GetParam();
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << path;
  simdjson::dom::parser parser;
  std::string line;
  size_t checked = 0;
  while (std::getline(file, line)) {
    const simdjson::dom::element row = parser.parse(line);
    simdjson::dom::array sp_ids;
    if (row["sp_ids"].get(sp_ids) != simdjson::SUCCESS) continue;
    const EncodeOptions options{.add_special_tokens = false};
    const absl::StatusOr<EncodedText> got = tokenizer.Encode({.text = BytesOf(row, "text")}, options);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->ids, IdsOf(sp_ids)) << std::string_view(row["name"]);
    ++checked;
  }
  EXPECT_GT(checked, 100u) << path << " has lost cases";
  std::cout << GetParam() << ": sp_ids of " << checked << " cases checked" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(Further, SentencePieceCases,
                         testing::Values("golden_xlmr.jsonl", "cases_xlmr.jsonl"), [](const auto& file) {
                           return std::string(file.param).substr(0, std::string(file.param).find('.'));
                         });

}  // namespace
}  // namespace trellis::golden
