// ParseSentencePieceModel: a serialized ModelProto to a TokenizerSpec.
//
// Refuses what sentencepiece 0.2.3 refuses at load (model_interface.cc,
// normalizer.cc), with the field's path and its value.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/format/sentencepiece_model.pb.h"
#include "trellis/internal/text/charsmap.h"
#include "trellis/load.h"
#include "trellis/spec.h"

namespace trellis {
namespace {

using FileModel = trellis_sp::ModelProto;
using FilePiece = trellis_sp::ModelProto::SentencePiece;
using FileTrainer = trellis_sp::TrainerSpec;
using FileNormalizer = trellis_sp::NormalizerSpec;

// SentencePiece's limit (kMaxPieceSize).
constexpr size_t kPieceBytesEnd = 8000;
// The longest value that an error message quotes.
constexpr size_t kQuotedBytes = 40;

std::string Quoted(std::string_view value) {
  const bool cut = value.size() > kQuotedBytes;
  if (cut) value = value.substr(0, kQuotedBytes);
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(absl::string_view(value.data(), value.size())),
                      cut ? "..." : "", "\"");
}

std::string PiecePath(int index) { return absl::StrCat("pieces[", index, "]"); }

PieceType TypeOf(const FilePiece& piece) {
  switch (piece.type()) {
    case FilePiece::UNKNOWN: return PieceType::kUnknown;
    case FilePiece::CONTROL: return PieceType::kControl;
    case FilePiece::USER_DEFINED: return PieceType::kUserDefined;
    case FilePiece::UNUSED: return PieceType::kUnused;
    case FilePiece::BYTE: return PieceType::kByte;
    case FilePiece::NORMAL: break;
  }
  return PieceType::kNormal;
}

bool IsInLattice(PieceType type) {
  return type == PieceType::kNormal || type == PieceType::kUserDefined || type == PieceType::kUnused;
}

// The value of "<0xHH>"; two upper-case digits, as SentencePiece writes them.
std::optional<uint8_t> ByteOf(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : piece.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'A' && c <= 'F')) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit ? c - '0' : c - 'A' + 10);
  }
  return static_cast<uint8_t>(value);
}

absl::Status CheckModelType(const FileTrainer& trainer) {
  if (trainer.model_type() == FileTrainer::UNIGRAM) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("trainer_spec.model_type: ",
                   trellis_sp::TrainerSpec_ModelType_Name(trainer.model_type()), ", expected UNIGRAM"));
}

absl::Status CheckCharsMap(std::string_view field, const std::string& blob) {
  if (blob.empty()) return absl::OkStatus();
  const auto bad = [&](std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(field), ": ", std::string(what)));
  };
  if (const std::optional<std::string> damage = internal::CharsMap::Check(blob)) return bad(*damage);
  // Two more that SentencePiece asks for; Check has seen that the size fits.
  const auto* b = reinterpret_cast<const uint8_t*>(blob.data());
  const size_t array_bytes = b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
  if (array_bytes % 1024 != 0) {
    return bad(absl::StrCat("has a double array of ", array_bytes, " bytes, expected a multiple of 1024"));
  }
  if (blob.back() != '\0') return bad("has replacements that do not end with NUL");
  return absl::OkStatus();
}

// What one pass over the pieces finds out.
class PieceReader {
 public:
  explicit PieceReader(bool byte_fallback) : byte_fallback_(byte_fallback) { model_.byte_fallback = byte_fallback; }

  absl::Status Add(const FilePiece& file_piece) {
    const int index = static_cast<int>(model_.pieces.size());
    Piece piece{file_piece.piece(), static_cast<double>(file_piece.score()), TypeOf(file_piece)};
    const bool is_nul = piece.text == std::string_view("\0", 1);
    // Some converters write a raw NUL beside <0x00>; SentencePiece puts it out of use.
    if (is_nul && byte_fallback_) piece.type = PieceType::kUnused;
    if (absl::Status s = CheckText(index, file_piece.piece(), piece.type, is_nul); !s.ok()) return s;
    if (!std::isfinite(file_piece.score())) {
      return Bad(index, "score", absl::StrCat(file_piece.score()), "a finite number");
    }
    if (piece.type == PieceType::kUnknown) {
      if (model_.unk_id.has_value()) {
        return Bad(index, "type", "UNKNOWN", absl::StrCat("one such piece; ", PiecePath(*model_.unk_id), " is it"));
      }
      model_.unk_id = index;
    }
    if (piece.type == PieceType::kByte) {
      if (!byte_fallback_) return Bad(index, "type", "BYTE", "trainer_spec.byte_fallback to be true");
      const std::optional<uint8_t> byte = ByteOf(piece.text);
      if (!byte.has_value()) return Bad(index, "piece", Quoted(piece.text), "<0x00> to <0xFF>");
      has_byte_[*byte] = true;
    }
    any_in_lattice_ |= IsInLattice(piece.type) && !is_nul;
    model_.pieces.push_back(std::move(piece));
    return absl::OkStatus();
  }

  absl::StatusOr<UnigramModel> Finish() && {
    if (!model_.unk_id.has_value() && !byte_fallback_) {
      return absl::InvalidArgumentError("pieces: none of type UNKNOWN, expected one");
    }
    for (int byte = 0; byte_fallback_ && byte < 256; ++byte) {
      if (has_byte_[byte]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("pieces: no piece of type BYTE for <0x", absl::Hex(byte, absl::kZeroPad2),
                       ">, expected all 256 because trainer_spec.byte_fallback is true"));
    }
    if (!any_in_lattice_) {
      return absl::InvalidArgumentError("pieces: none of type NORMAL, USER_DEFINED or UNUSED, expected at least one");
    }
    return std::move(model_);
  }

 private:
  static absl::Status Bad(int index, std::string_view field, const std::string& value, const std::string& expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(PiecePath(index), ".", std::string(field), ": ", value, ", expected ", expected));
  }

  // `text` must outlive the reader: the maps of names view it.
  absl::Status CheckText(int index, const std::string& text, PieceType type, bool is_nul) {
    if (text.size() >= kPieceBytesEnd) {
      return Bad(index, "piece", absl::StrCat(text.size(), " bytes"), absl::StrCat("fewer than ", kPieceBytesEnd));
    }
    if (text.empty()) return Bad(index, "piece", "\"\"", "at least one byte");
    if (is_nul && type == PieceType::kUnused) return absl::OkStatus();
    if (text.find('\0') != std::string::npos) return Bad(index, "piece", Quoted(text), "no NUL byte");
    // Pieces of the lattice and reserved ones have a name space each.
    auto& names = IsInLattice(type) ? lattice_names_ : reserved_names_;
    const auto [at, is_new] = names.emplace(text, index);
    if (is_new) return absl::OkStatus();
    return Bad(index, "piece", Quoted(text), absl::StrCat("a new one; it is also ", PiecePath(at->second)));
  }

  const bool byte_fallback_;
  UnigramModel model_;
  absl::flat_hash_map<absl::string_view, int> lattice_names_;
  absl::flat_hash_map<absl::string_view, int> reserved_names_;
  bool has_byte_[256] = {};
  bool any_in_lattice_ = false;
};

TemplateSpecial Special(TokenId id, const std::string& content) { return TemplateSpecial{{id}, content, 0}; }

// fairseq puts a dictionary of its own in front of the pieces: <s> 0, <pad> 1,
// </s> 2, <unk> 3, then everything from pieces[3], one up; <mask> comes last.
absl::Status ShiftToFairseq(TokenizerSpec& spec) {
  std::vector<Piece>& pieces = spec.model.pieces;
  struct Head {
    const char* text;
    PieceType type;
    const char* type_name;
  };
  constexpr Head kHeads[] = {{"<unk>", PieceType::kUnknown, "UNKNOWN"},
                             {"<s>", PieceType::kControl, "CONTROL"},
                             {"</s>", PieceType::kControl, "CONTROL"}};
  for (size_t i = 0; i < std::size(kHeads); ++i) {
    const Head& head = kHeads[i];
    if (i < pieces.size() && pieces[i].text == head.text && pieces[i].type == head.type) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        PiecePath(static_cast<int>(i)), ".piece: ", i < pieces.size() ? Quoted(pieces[i].text) : "missing",
        ", expected ", head.text, " of type ", head.type_name, " for the fairseq numbering"));
  }
  std::vector<Piece> shifted;
  shifted.reserve(pieces.size() + 2);
  shifted.push_back(std::move(pieces[1]));
  shifted.push_back({"<pad>", 0.0, PieceType::kControl});
  shifted.push_back(std::move(pieces[2]));
  shifted.push_back(std::move(pieces[0]));
  for (size_t i = std::size(kHeads); i < pieces.size(); ++i) shifted.push_back(std::move(pieces[i]));
  shifted.push_back({"<mask>", 0.0, PieceType::kControl});
  pieces = std::move(shifted);
  spec.model.unk_id = 3;

  const TemplateSpecial bos = Special(0, "<s>");
  const TemplateSpecial eos = Special(2, "</s>");
  const TemplateSequence a{Sequence::kA, 0};
  const TemplateSequence b{Sequence::kB, 0};
  spec.post_processor.single = {bos, a, eos};
  spec.post_processor.pair = {bos, a, eos, eos, b, eos};
  return absl::OkStatus();
}

// SentencePiece denormalizes with whatever flags the file has; its trainer
// always writes these three as false, and nothing else has been seen.
absl::Status CheckDenormalizer(const FileNormalizer& denormalizer) {
  if (denormalizer.precompiled_charsmap().empty()) return absl::OkStatus();
  const auto refuse = [](std::string_view flag) {
    return absl::UnimplementedError(absl::StrCat("denormalizer_spec.", std::string(flag), ": true, expected false"));
  };
  if (denormalizer.add_dummy_prefix()) return refuse("add_dummy_prefix");
  if (denormalizer.remove_extra_whitespaces()) return refuse("remove_extra_whitespaces");
  if (denormalizer.escape_whitespaces()) return refuse("escape_whitespaces");
  return CheckCharsMap("denormalizer_spec.precompiled_charsmap", denormalizer.precompiled_charsmap());
}

}  // namespace

absl::StatusOr<TokenizerSpec> ParseSentencePieceModel(std::string_view model_proto,
                                                      const SentencePieceOptions& options) {
  FileModel file;
  if (model_proto.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !file.ParseFromArray(model_proto.data(), static_cast<int>(model_proto.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a SentencePiece model: ", model_proto.size(), " bytes that are no ModelProto"));
  }
  if (absl::Status s = CheckModelType(file.trainer_spec()); !s.ok()) return s;
  if (absl::Status s = CheckCharsMap("normalizer_spec.precompiled_charsmap",
                                     file.normalizer_spec().precompiled_charsmap());
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckDenormalizer(file.denormalizer_spec()); !s.ok()) return s;

  PieceReader reader(file.trainer_spec().byte_fallback());
  for (const FilePiece& piece : file.pieces()) {
    if (absl::Status s = reader.Add(piece); !s.ok()) return s;
  }
  absl::StatusOr<UnigramModel> model = std::move(reader).Finish();
  if (!model.ok()) return model.status();

  TokenizerSpec spec;
  spec.dialect = Dialect::kSentencePiece;
  spec.model = *std::move(model);
  spec.model.unk_surface = file.trainer_spec().unk_surface();
  const FileNormalizer& normalizer = file.normalizer_spec();
  spec.normalizers.push_back(SentencePieceNormalizer{
      normalizer.precompiled_charsmap(), normalizer.add_dummy_prefix(), normalizer.remove_extra_whitespaces(),
      normalizer.escape_whitespaces(), file.trainer_spec().treat_whitespace_as_suffix()});
  spec.decoders.push_back(SentencePieceDecoder{file.denormalizer_spec().precompiled_charsmap()});
  if (options.fairseq) {
    if (absl::Status s = ShiftToFairseq(spec); !s.ok()) return s;
  }
  return spec;
}

}  // namespace trellis
