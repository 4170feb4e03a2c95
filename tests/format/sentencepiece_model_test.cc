// ParseSentencePieceModel: what a spec gets from a file, and what is refused in
// which words. That these files are refused is sentencepiece 0.2.3's decision
// (model_interface.cc, normalizer.cc, unigram_model.cc).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

#include <simdjson.h>

#include "absl/status/status.h"
#include "tests/format/wire_writer.h"
#include "trellis/load.h"

namespace trellis {
namespace {

using wire::Bytes;
using wire::Float;
using wire::Number;

// The file format's piece types.
enum FileType : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

std::string FilePiece(std::string_view text, float score = -1.0F, FileType type = kNormal) {
  return Bytes(1, Bytes(1, text) + Float(2, score) + Number(3, type));
}
std::string Trainer(const std::string& fields) { return Bytes(2, fields); }
std::string FileNormalizer(const std::string& fields) { return Bytes(3, fields); }
std::string Denormalizer(const std::string& fields) { return Bytes(5, fields); }

std::string Head() { return FilePiece("<unk>", 0, kUnknown) + FilePiece("<s>", 0, kControl) + FilePiece("</s>", 0, kControl); }
std::string Small() { return Head() + FilePiece("\u2581a", -1.5F) + FilePiece("b", -2.25F); }

std::string AllBytes(int but = -1) {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", byte);
    if (byte != but) out += FilePiece(text, 0, kByte);
  }
  return out;
}

absl::Status ErrorOf(const std::string& file, const SentencePieceOptions& options = {}) {
  return ParseSentencePieceModel(file, options).status();
}

void ExpectError(const std::string& file, absl::StatusCode code, std::string_view message,
                 const SentencePieceOptions& options = {}) {
  const absl::Status status = ErrorOf(file, options);
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_EQ(std::string(status.message()), message);
}

TEST(SentencePieceModel, SpecSaysWhatTheFileSays) {
  const std::string file = Small() + FilePiece("<tag>", 0, kUserDefined) + FilePiece("old", -9, kUnused) +
                           Trainer(Number(24, 1) + Bytes(44, "??")) +
                           FileNormalizer(Number(3, 0) + Number(4, 0) + Number(5, 0));
  const absl::StatusOr<TokenizerSpec> spec = ParseSentencePieceModel(file);
  ASSERT_TRUE(spec.ok()) << spec.status();
  TokenizerSpec want;
  want.dialect = Dialect::kSentencePiece;
  want.normalizers = {SentencePieceNormalizer{.charsmap = "",
                                              .add_dummy_prefix = false,
                                              .remove_extra_whitespaces = false,
                                              .escape_whitespaces = false,
                                              .treat_whitespace_as_suffix = true}};
  want.model.pieces = {{"<unk>", 0.0, PieceType::kUnknown},   {"<s>", 0.0, PieceType::kControl},
                       {"</s>", 0.0, PieceType::kControl},    {"\u2581a", -1.5, PieceType::kNormal},
                       {"b", -2.25, PieceType::kNormal},      {"<tag>", 0.0, PieceType::kUserDefined},
                       {"old", -9.0, PieceType::kUnused}};
  want.model.unk_id = 0;
  want.model.unk_surface = "??";
  want.decoders = {SentencePieceDecoder{}};
  EXPECT_EQ(*spec, want);
  EXPECT_TRUE(ValidateSpec(*spec).ok()) << ValidateSpec(*spec);
}

TEST(SentencePieceModel, DefaultsAreTheFormats) {
  const absl::StatusOr<TokenizerSpec> spec = ParseSentencePieceModel(Small());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(std::get<SentencePieceNormalizer>(spec->normalizers.at(0)), SentencePieceNormalizer{});
  EXPECT_EQ(spec->model.unk_surface, " \u2047 ");
  EXPECT_FALSE(spec->model.byte_fallback);
}

TEST(SentencePieceModel, UnknownFieldsAndTypesAreSkipped) {
  // An enum value of another version counts as absent, as protobuf reads it.
  const std::string file = Small() + Bytes(200, "an extension") + Trainer(Number(3, 9) + Bytes(1, "input.txt")) +
                           Bytes(1, Bytes(1, "c") + Float(2, -3) + Number(3, 99));
  const absl::StatusOr<TokenizerSpec> spec = ParseSentencePieceModel(file);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model.pieces.back(), (Piece{"c", -3.0, PieceType::kNormal}));
}

TEST(SentencePieceModel, OtherModelsAreRefusedByName) {
  constexpr auto kCode = absl::StatusCode::kUnimplemented;
  ExpectError(Small() + Trainer(Number(3, 2)), kCode, "trainer_spec.model_type: BPE, expected UNIGRAM");
  ExpectError(Small() + Trainer(Number(3, 3)), kCode, "trainer_spec.model_type: WORD, expected UNIGRAM");
  ExpectError(Small() + Trainer(Number(3, 4)), kCode, "trainer_spec.model_type: CHAR, expected UNIGRAM");
}

TEST(SentencePieceModel, BrokenPiecesAreNamed) {
  constexpr auto kCode = absl::StatusCode::kInvalidArgument;
  ExpectError(Small() + FilePiece(""), kCode, "pieces[5].piece: \"\", expected at least one byte");
  ExpectError(Small() + Bytes(1, Float(2, -1)), kCode, "pieces[5].piece: \"\", expected at least one byte");
  ExpectError(Small() + FilePiece({"a\0b", 3}), kCode, "pieces[5].piece: \"a\\x00\\x62\", expected no NUL byte");
  ExpectError(Small() + FilePiece({"\0", 1}), kCode, "pieces[5].piece: \"\\x00\", expected no NUL byte");
  ExpectError(Small() + FilePiece(std::string(8000, 'x')), kCode, "pieces[5].piece: 8000 bytes, expected fewer than 8000");
  ExpectError(Small() + FilePiece("b"), kCode, "pieces[5].piece: \"b\", expected a new one; it is also pieces[4]");
  ExpectError(Small() + FilePiece("</s>", 0, kControl), kCode, "pieces[5].piece: \"</s>\", expected a new one; it is also pieces[2]");
  ExpectError(Small() + FilePiece("c", std::numeric_limits<float>::quiet_NaN()), kCode, "pieces[5].score: nan, expected a finite number");
  ExpectError(Small() + FilePiece("c", -std::numeric_limits<float>::infinity()), kCode, "pieces[5].score: -inf, expected a finite number");
  ExpectError(Small() + FilePiece("<c>", std::numeric_limits<float>::infinity(), kControl), kCode, "pieces[5].score: inf, expected a finite number");
  ExpectError(Small() + FilePiece("<other>", 0, kUnknown), kCode, "pieces[5].type: UNKNOWN, expected one such piece; pieces[0] is it");
  ExpectError(FilePiece("a") + FilePiece("<s>", 0, kControl), kCode, "pieces: none of type UNKNOWN, expected one");
  ExpectError("", kCode, "pieces: none of type UNKNOWN, expected one");
  ExpectError(Head(), kCode, "pieces: none of type NORMAL, USER_DEFINED or UNUSED, expected at least one");
}

TEST(SentencePieceModel, OddPiecesLoad) {
  EXPECT_TRUE(ErrorOf(Small() + FilePiece(std::string(7999, 'x'))).ok());
  EXPECT_TRUE(ErrorOf(Small() + FilePiece("\xFF\xC3")).ok());             // no UTF-8
  EXPECT_TRUE(ErrorOf(Small() + FilePiece("c", 5.0F)).ok());              // a score above zero
  EXPECT_TRUE(ErrorOf(Small() + FilePiece("</s>")).ok());                 // normal and control have a name space each
  EXPECT_TRUE(ErrorOf(Small() + FilePiece({"\0", 1}, 0, kUnused)).ok());  // NUL out of use
}

TEST(SentencePieceModel, BytePiecesMustBeAllOrNone) {
  constexpr auto kCode = absl::StatusCode::kInvalidArgument;
  const std::string fallback = Trainer(Number(35, 1));
  EXPECT_TRUE(ErrorOf(Small() + AllBytes() + fallback).ok());
  // No unknown piece is needed then, and a raw NUL goes out of use.
  const absl::StatusOr<TokenizerSpec> spec = ParseSentencePieceModel(AllBytes() + FilePiece("a") + FilePiece({"\0", 1}) + fallback);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model.unk_id, std::nullopt);
  EXPECT_EQ(spec->model.pieces.back().type, PieceType::kUnused);
  EXPECT_TRUE(ValidateSpec(*spec).ok()) << ValidateSpec(*spec);

  ExpectError(Small() + FilePiece("<0x41>", 0, kByte), kCode, "pieces[5].type: BYTE, expected trainer_spec.byte_fallback to be true");
  ExpectError(Small() + AllBytes(0xA7) + fallback, kCode,
              "pieces: no piece of type BYTE for <0xa7>, expected all 256 because trainer_spec.byte_fallback is true");
  ExpectError(Small() + fallback, kCode,
              "pieces: no piece of type BYTE for <0x00>, expected all 256 because trainer_spec.byte_fallback is true");
  ExpectError(Small() + FilePiece("<0xa7>", 0, kByte) + fallback, kCode, "pieces[5].piece: \"<0xa7>\", expected <0x00> to <0xFF>");
}

TEST(SentencePieceModel, BrokenCharsmapIsNamed) {
  const auto error = [](const std::string& blob) { return std::string(ErrorOf(Small() + FileNormalizer(Bytes(2, blob))).message()); };
  constexpr std::string_view kField = "normalizer_spec.precompiled_charsmap: ";
  for (const std::string& blob : {std::string("abc"), std::string("\xFF\xFF\xFF\x7Fxxxx"), std::string(2000, '\x7E'),
                                  std::string("\x08\0\0\0\0\0\0\0\0\0\0\0\0", 13)}) {
    EXPECT_TRUE(error(blob).starts_with(kField)) << error(blob);
  }
}

TEST(SentencePieceModel, DenormalizerWithFlagsIsNotSupported) {
  const std::string charsmap = Bytes(2, "x");
  constexpr auto kCode = absl::StatusCode::kUnimplemented;
  ExpectError(Small() + Denormalizer(charsmap), kCode, "denormalizer_spec.add_dummy_prefix: true, expected false");
  ExpectError(Small() + Denormalizer(charsmap + Number(3, 0)), kCode, "denormalizer_spec.remove_extra_whitespaces: true, expected false");
  ExpectError(Small() + Denormalizer(charsmap + Number(3, 0) + Number(4, 0)), kCode, "denormalizer_spec.escape_whitespaces: true, expected false");
  // Without a charsmap SentencePiece has no denormalizer, whatever its flags.
  EXPECT_TRUE(ErrorOf(Small() + Denormalizer(Number(3, 1))).ok());
}

TEST(SentencePieceModel, WhatIsNoModelIsRefused) {
  ExpectError("\x0A\xFF", absl::StatusCode::kInvalidArgument, "not a SentencePiece model: 2 bytes that are no ModelProto");
  const std::string file = Small();
  size_t refused = 0;
  for (size_t size = 0; size < file.size(); ++size) refused += !ErrorOf(file.substr(0, size)).ok();
  EXPECT_GT(refused, file.size() / 2);  // the others end between two pieces
}

TEST(SentencePieceModel, FairseqNumbersAsXlmRoberta) {
  const absl::StatusOr<TokenizerSpec> plain = ParseSentencePieceModel(Small());
  const absl::StatusOr<TokenizerSpec> spec = ParseSentencePieceModel(Small(), {.fairseq = true});
  ASSERT_TRUE(plain.ok() && spec.ok()) << spec.status();
  TokenizerSpec want = *plain;
  const auto& from = plain->model.pieces;
  want.model.pieces = {from[1], {"<pad>", 0.0, PieceType::kControl}, from[2], from[0], from[3], from[4], {"<mask>", 0.0, PieceType::kControl}};
  want.model.unk_id = 3;
  const TemplateSpecial bos{{0}, "<s>", 0};
  const TemplateSpecial eos{{2}, "</s>", 0};
  const TemplateSequence a{Sequence::kA, 0};
  const TemplateSequence b{Sequence::kB, 0};
  want.post_processor.single = {bos, a, eos};
  want.post_processor.pair = {bos, a, eos, eos, b, eos};
  EXPECT_EQ(*spec, want);
  EXPECT_TRUE(ValidateSpec(*spec).ok()) << ValidateSpec(*spec);
}

TEST(SentencePieceModel, FairseqWantsItsThreeHeads) {
  constexpr auto kCode = absl::StatusCode::kInvalidArgument;
  const std::string swapped = FilePiece("<unk>", 0, kUnknown) + FilePiece("</s>", 0, kControl) + FilePiece("<s>", 0, kControl) + FilePiece("a");
  ExpectError(swapped, kCode, "pieces[1].piece: \"</s>\", expected <s> of type CONTROL for the fairseq numbering", {.fairseq = true});
  ExpectError(FilePiece("a") + FilePiece("<unk>", 0, kUnknown), kCode,
              "pieces[0].piece: \"a\", expected <unk> of type UNKNOWN for the fairseq numbering", {.fairseq = true});
}

// Broken files from outside: refused where SentencePiece refuses, else loaded.
TEST(SentencePieceModel, FurtherMalformedFiles) {
  const char* folder = std::getenv("TRELLIS_CASES");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "SKIPPED: TRELLIS_CASES is not set, so the further malformed .model files are not checked";
  }
  const std::string base = std::string(folder) + "/malformed/";
  std::ifstream expected(base + "expected.jsonl");
  ASSERT_TRUE(expected.good()) << base;
  simdjson::dom::parser parser;
  std::string line;
  size_t checked = 0;
  while (std::getline(expected, line)) {
    const simdjson::dom::element row = parser.parse(line);
    std::string_view sp;
    if (row["sp"].get(sp) != simdjson::SUCCESS) continue;
    const std::string_view name = row["file"];
    std::ifstream file(base + std::string(name), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const absl::StatusOr<TokenizerSpec> spec = ParseSentencePieceModel(bytes.str());
    EXPECT_EQ(spec.ok(), sp == "loads") << name << ": " << spec.status();
    ++checked;
    if (!spec.ok()) {
      EXPECT_FALSE(spec.status().message().empty()) << name;
      continue;
    }
    const absl::StatusOr<Tokenizer> tokenizer = Tokenizer::Create(*spec);
    ASSERT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.status();
  }
  EXPECT_GE(checked, 18u);
}

}  // namespace
}  // namespace trellis
