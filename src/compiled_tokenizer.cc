// Tokenizers to compiled files and back (WordPath's part is in
// word_path_compiled.cc).
#include "src/compiled_tokenizer.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "src/compiled_spec.h"
#include "src/tokenizer_impl.h"
#include "trellis/internal/compiled.h"
#include "trellis/load.h"

namespace trellis {
namespace internal {
namespace {

template <typename T>
absl::Status Take(const CompiledFile& file, SectionId id, std::span<const T>& elements) {
  const auto found = file.Elements<T>(id);
  if (found.ok()) elements = *found;
  return found.status();
}

std::string Count(size_t count) { return std::to_string(count) + " of them"; }

absl::StatusOr<PieceColumns> ReadPieces(const CompiledFile& file) {
  PieceColumns columns;
  std::span<const char> texts;
  if (absl::Status s = Take(file, SectionId::kPieceScores, columns.scores); !s.ok()) return s;
  const auto types = file.Elements<PieceType>(
      SectionId::kPieceTypes, [](PieceType type) { return type <= PieceType::kByte; },
      "at most " + std::to_string(static_cast<int>(PieceType::kByte)));
  if (!types.ok()) return types.status();
  columns.types = *types;
  if (absl::Status s = Take(file, SectionId::kPieceBegins, columns.begins); !s.ok()) return s;
  if (absl::Status s = Take(file, SectionId::kPieceTexts, texts); !s.ok()) return s;
  columns.texts = {texts.data(), texts.size()};
  const size_t pieces = columns.scores.size();
  if (columns.types.size() != pieces) {
    return CompiledFile::Wrong(SectionId::kPieceTypes,
                               Count(columns.types.size()) + ", expected " + std::to_string(pieces));
  }
  if (columns.begins.size() != pieces + 1) {
    return CompiledFile::Wrong(SectionId::kPieceBegins,
                               Count(columns.begins.size()) + ", expected " + std::to_string(pieces + 1));
  }
  for (size_t id = 0; id < pieces; ++id) {
    if (columns.begins[id] > columns.begins[id + 1]) {
      return CompiledFile::WrongElement(SectionId::kPieceBegins, id, std::to_string(columns.begins[id]),
                                        "at most the next one, " + std::to_string(columns.begins[id + 1]));
    }
  }
  if (columns.begins.back() != texts.size()) {
    return CompiledFile::WrongElement(SectionId::kPieceBegins, pieces, std::to_string(columns.begins.back()),
                                      "the " + std::to_string(texts.size()) + " bytes of texts");
  }
  return columns;
}

// Children come after their node, so that no walk goes round, and are there.
absl::Status CheckByteTrie(std::span<const BitmapTrieNode> nodes, const PieceList& pieces, Dialect dialect) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const BitmapTrieNode& node = nodes[i];
    uint32_t children = 0;
    bool ranks = true;
    for (size_t word = 0; word < 4; ++word) {
      ranks &= node.rank[word] == static_cast<uint8_t>(children);
      children += static_cast<uint32_t>(std::popcount(node.bitmap[word]));
    }
    if (!ranks)
      return CompiledFile::WrongElement(SectionId::kByteTrie, i, "other ranks", "those of its bitmap");
    if (children != 0 &&
        (node.base <= i || node.base > nodes.size() || children > nodes.size() - node.base)) {
      return CompiledFile::WrongElement(
          SectionId::kByteTrie, i,
          std::to_string(children) + " children from " + std::to_string(node.base) + " on",
          "nodes between this and " + std::to_string(nodes.size()));
    }
    if (node.id == kNoPiece) continue;
    if (node.id < 0 || static_cast<size_t>(node.id) >= pieces.size()) {
      return CompiledFile::WrongElement(SectionId::kByteTrie, i, "id " + std::to_string(node.id),
                                        "one below " + std::to_string(pieces.size()));
    }
    const PieceType type = pieces.type(static_cast<size_t>(node.id));
    if (dialect == Dialect::kSentencePiece && type != PieceType::kNormal && type != PieceType::kUserDefined) {
      return CompiledFile::WrongElement(SectionId::kByteTrie, i, "id " + std::to_string(node.id),
                                        "a normal or user-defined piece");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoredTokenizer> ReadStored(CompiledFile file) {
  std::span<const char> bytes;
  if (absl::Status s = Take(file, SectionId::kSpec, bytes); !s.ok()) return s;
  absl::StatusOr<TokenizerSpec> spec = ReadSpecBytes({bytes.data(), bytes.size()});
  if (!spec.ok()) return CompiledFile::Wrong(SectionId::kSpec, std::string(spec.status().message()));
  absl::StatusOr<PieceColumns> columns = ReadPieces(file);
  if (!columns.ok()) return columns.status();
  const PieceList pieces(*columns);
  if (absl::Status s = CheckSpec(*spec, pieces); !s.ok()) {
    return absl::Status(s.code(), "section spec: " + std::string(s.message()));
  }
  std::span<const TokenId> shielded;
  if (absl::Status s = Take(file, SectionId::kShielded, shielded); !s.ok()) return s;
  for (size_t i = 0; i < shielded.size(); ++i) {
    if (shielded[i] >= 0 && static_cast<size_t>(shielded[i]) < pieces.size()) continue;
    return CompiledFile::WrongElement(SectionId::kShielded, i, std::to_string(shielded[i]),
                                      "an id below " + std::to_string(pieces.size()));
  }
  std::span<const BitmapTrieNode> nodes;
  if (file.Has(SectionId::kByteTrie)) {
    if (absl::Status s = Take(file, SectionId::kByteTrie, nodes); !s.ok()) return s;
    if (absl::Status s = CheckByteTrie(nodes, pieces, spec->dialect); !s.ok()) return s;
  }
  const bool summed = spec->dialect == Dialect::kSentencePiece;
  return StoredTokenizer{std::move(file),
                         *std::move(spec),
                         pieces,
                         {Table<BitmapTrieNode>(summed ? std::span<const BitmapTrieNode>() : nodes),
                          {shielded.begin(), shielded.end()}},
                         Table<BitmapTrieNode>(summed ? nodes : std::span<const BitmapTrieNode>())};
}

absl::StatusOr<std::string> CompiledBytes(const TokenizerSpec& spec) {
  const absl::StatusOr<Tokenizer> tokenizer = Tokenizer::Create(spec);
  if (!tokenizer.ok()) return tokenizer.status();
  const absl::StatusOr<std::string> spec_bytes = SpecBytes(spec);
  if (!spec_bytes.ok()) return spec_bytes.status();

  const std::vector<Piece>& pieces = spec.model.pieces;
  std::string texts;
  std::vector<uint32_t> begins;
  std::vector<double> scores;
  std::vector<PieceType> types;
  for (const Piece& piece : pieces) {
    begins.push_back(static_cast<uint32_t>(texts.size()));
    texts += piece.text;
    scores.push_back(piece.score);
    types.push_back(piece.type);
    if (texts.size() > std::numeric_limits<uint32_t>::max()) {
      return absl::UnimplementedError(
          "model.pieces: 4 GiB of text or more, expected less in a compiled model");
    }
  }
  begins.push_back(static_cast<uint32_t>(texts.size()));
  const std::vector<TokenId> shielded = tokenizer->impl().plain_path().ShieldedIds();

  CompiledWriter writer;
  writer.Add(SectionId::kSpec, std::span(spec_bytes->data(), spec_bytes->size()));
  writer.Add(SectionId::kPieceBegins, std::span<const uint32_t>(begins));
  writer.Add(SectionId::kPieceTexts, std::span<const char>(texts));
  writer.Add(SectionId::kPieceScores, std::span<const double>(scores));
  writer.Add(SectionId::kPieceTypes, std::span<const PieceType>(types));
  writer.Add(SectionId::kShielded, std::span<const TokenId>(shielded));
  tokenizer->impl().Save(writer);
  return writer.Finish();
}

namespace {

absl::StatusOr<Tokenizer> OpenCompiled(FileBytes bytes, const TokenizerOptions& options) {
  absl::StatusOr<CompiledFile> file = CompiledFile::Open(std::move(bytes));
  if (!file.ok()) return file.status();
  absl::StatusOr<StoredTokenizer> stored = ReadStored(*std::move(file));
  if (!stored.ok()) return stored.status();
  return Tokenizer::Impl::OfStored(*std::move(stored), options);
}

// Under another name first, so that who maps an older file keeps it whole.
absl::Status ReplaceFile(const std::string& path, std::string_view bytes) {
  const std::string part = path + ".part" + std::to_string(getpid());
  const auto failed = [&](const char* what) {
    const absl::Status status =
        absl::PermissionDeniedError(path + ": " + what + " (" + std::generic_category().message(errno) +
                                    "), expected a file that can be written");
    std::remove(part.c_str());
    return status;
  };
  std::FILE* const file = std::fopen(part.c_str(), "wbe");
  if (file == nullptr) return failed("cannot be opened");
  const bool wrote = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !wrote) return failed("cannot be written to its end");
  if (std::rename(part.c_str(), path.c_str()) != 0) return failed("cannot be put in place");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tokenizer> TokenizerOfCompiledBytes(std::string_view bytes, const TokenizerOptions& options) {
  return OpenCompiled(FileBytes::Copy(bytes), options);
}

}  // namespace internal

void Tokenizer::Impl::Save(internal::CompiledWriter& writer) const {
  const auto& trie = sentencepiece_ != nullptr ? sentencepiece_->bitmap_trie() : plain_.bitmap_trie();
  if (trie.size() != 0) writer.Add(internal::SectionId::kByteTrie, trie.span());
  if (words_ != nullptr) words_->Save(writer);
}

absl::Status CompileTokenizer(const TokenizerSpec& spec, const std::string& path) {
  const absl::StatusOr<std::string> bytes = internal::CompiledBytes(spec);
  return bytes.ok() ? internal::ReplaceFile(path, *bytes) : bytes.status();
}

absl::StatusOr<Tokenizer> MapTokenizer(const std::string& path, const TokenizerOptions& options) {
  using internal::FileBytes;
  absl::StatusOr<FileBytes> bytes =
      options.huge_pages ? FileBytes::ReadToHugePages(path) : FileBytes::Map(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<Tokenizer> tokenizer = internal::OpenCompiled(*std::move(bytes), options);
  if (tokenizer.ok()) return tokenizer;
  return absl::Status(tokenizer.status().code(), path + ": " + std::string(tokenizer.status().message()));
}

}  // namespace trellis
