// Odd and broken tokenizer.json files: what tokenizers loads must give the same
// ids, what it refuses or panics at must be an error that names a place.
//
// odd_files.golden.jsonl is committed; a folder in TRELLIS_CASES adds its
// malformed/*.json with malformed/expected.jsonl.
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "simdjson.h"
#include "trellis/load.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

struct OddFile {
  std::string name;
  std::string json;
  bool reference_loads = false;
  // Per text of the golden; nothing where tokenizers panics. Empty: not known.
  std::vector<std::optional<std::vector<TokenId>>> ids;
};

// Files that tokenizers loads and we refuse on purpose, and why. Once one of
// them loads, the test asks for its line to go.
enum class Refusal {
  kLaterStage,   // a feature that is not there yet: Unimplemented
  kPanicsLater,  // tokenizers panics at the first text that needs the broken part
  kStricter,     // no tool writes it, and taking it would hide a mistake
};
const std::map<std::string, Refusal>& Refused() {
  static const auto* const refused = new std::map<std::string, Refusal>{
      {"added-replacement-character", Refusal::kLaterStage},
      {"regex-backtrack", Refusal::kLaterStage},
      {"normalizer-string-empty", Refusal::kLaterStage},
      {"template-single-type-id-300", Refusal::kLaterStage},

      {"charsmap-BQAAAAAAAABh", Refusal::kPanicsLater},  // an array of 5 bytes
      {"charsmap-wild-root", Refusal::kPanicsLater},
      {"charsmap-leaf-out-of-range", Refusal::kPanicsLater},
      {"template-unknown-special", Refusal::kPanicsLater},
      {"template-missing-special", Refusal::kPanicsLater},
      {"template-single-only-b", Refusal::kPanicsLater},
      {"truncation-stride-too-big", Refusal::kPanicsLater},
      {"truncation-stride-ge-max", Refusal::kPanicsLater},

      {"model-vocab-twice-first-bad", Refusal::kStricter},
      {"model-empty-vocab-no-unk", Refusal::kStricter},
      {"template-special-id-beyond", Refusal::kStricter},
      {"template-type-twice", Refusal::kStricter},
      {"template-single-piece-as-array", Refusal::kStricter},
      {"truncation-array", Refusal::kStricter},
  };
  return *refused;
}

void CheckMessage(const OddFile& file, const absl::Status& status) {
  // `place: what is wrong`, on one line.
  static const std::regex kPlace(R"re([A-Za-z_][^ \n]*: [^\n]+)re");
  const std::string message(status.message());
  EXPECT_TRUE(std::regex_match(message, kPlace)) << file.name << ": " << message;
}

void Check(const OddFile& file, const std::vector<std::string>& texts) {
  SCOPED_TRACE(file.name);
  const absl::StatusOr<TokenizerSpec> spec = ParseTokenizerJson(file.json);
  if (!file.reference_loads) {
    ASSERT_FALSE(spec.ok()) << "loaded, but tokenizers refuses it";
    CheckMessage(file, spec.status());
    return;
  }
  const auto refused = Refused().find(file.name);
  if (refused != Refused().end()) {
    ASSERT_FALSE(spec.ok()) << "loaded; take it off the list";
    CheckMessage(file, spec.status());
    EXPECT_EQ(absl::IsUnimplemented(spec.status()), refused->second == Refusal::kLaterStage) << spec.status();
    return;
  }
  ASSERT_TRUE(spec.ok()) << spec.status();
  const absl::StatusOr<Tokenizer> tokenizer = Tokenizer::Create(*spec);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  for (size_t i = 0; i < file.ids.size(); ++i) {
    const absl::StatusOr<EncodedText> encoded = tokenizer->Encode(texts[i]);
    if (!file.ids[i]) {
      // A double array that is too short for its labels: a step outside is no
      // rule to us, and a panic there.
      if (file.name.rfind("charsmap-", 0) != 0) {
        EXPECT_FALSE(encoded.ok()) << texts[i];
      }
      continue;
    }
    ASSERT_TRUE(encoded.ok()) << texts[i] << ": " << encoded.status();
    EXPECT_EQ(encoded->ids, *file.ids[i]) << texts[i];
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string Text(simdjson::dom::element element) { return std::string(std::string_view(element)); }

TEST(MalformedTest, OddFilesAsTokenizers) {
  std::ifstream in(std::string(TRELLIS_SOURCE_DIR) + "/tests/format/odd_files.golden.jsonl");
  simdjson::dom::parser parser;
  std::vector<std::string> texts;
  std::set<std::string> names;
  for (std::string line; std::getline(in, line);) {
    const simdjson::dom::element row = parser.parse(line);
    if (texts.empty()) {
      for (const simdjson::dom::element text : row["texts"].get_array()) texts.push_back(Text(text));
      continue;
    }
    OddFile file{Text(row["name"]), Text(row["json"]), Text(row["hf"]) == "loads", {}};
    if (file.reference_loads) {
      for (const simdjson::dom::element ids : row["ids"].get_array()) {
        auto& expected = file.ids.emplace_back();
        if (ids.is_null()) continue;
        expected.emplace();
        for (const int64_t id : ids.get_array()) expected->push_back(static_cast<TokenId>(id));
      }
      ASSERT_EQ(file.ids.size(), texts.size());
    }
    EXPECT_TRUE(names.insert(file.name).second) << file.name << " comes twice";
    Check(file, texts);
  }
  EXPECT_GT(names.size(), 350u);
}

TEST(MalformedTest, FilesOfTheCasesFolder) {
  const char* const folder = std::getenv("TRELLIS_CASES");
  if (folder == nullptr)
    GTEST_SKIP() << "TRELLIS_CASES is not set: malformed/*.json of a cases folder NOT tested";
  const std::string malformed = std::string(folder) + "/malformed/";
  std::ifstream in(malformed + "expected.jsonl");
  ASSERT_TRUE(in) << malformed << "expected.jsonl";
  simdjson::dom::parser parser;
  size_t files = 0;
  for (std::string line; std::getline(in, line);) {
    const simdjson::dom::element row = parser.parse(line);
    const std::string name = Text(row["file"]);
    if (name.size() < 5 || name.substr(name.size() - 5) != ".json") continue;
    ++files;
    // The ids there belong to texts that the folder does not tell.
    Check({Text(row["name"]), ReadFile(malformed + name), Text(row["hf"]) == "loads", {}}, {});
  }
  EXPECT_GT(files, 0u);
}

}  // namespace
}  // namespace trellis
