#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/model_options.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/table.h"

namespace trellis::cli {
namespace {

constexpr char kAbout[] =
    "Show what was loaded: dialect, pieces, normalizers, pre-tokenizers, template, special tokens,\n"
    "which paths are on, table sizes, load time.";

struct Settings {
  ModelOptions model;
  bool json = false;
};

// A name and what it stands for; several values are a list.
struct Entry {
  std::string name;
  std::vector<std::string> values;
};

const char* OnOff(const bool on) { return on ? "on" : "off"; }

const char* Name(PrependScheme scheme) {
  switch (scheme) {
    case PrependScheme::kAlways:
      return "always";
    case PrependScheme::kFirst:
      return "first";
    case PrependScheme::kNever:
      return "never";
  }
  return "unknown";
}

const char* Name(UnicodeForm form) {
  switch (form) {
    case UnicodeForm::kNfc:
      return "NFC";
    case UnicodeForm::kNfd:
      return "NFD";
    case UnicodeForm::kNfkc:
      return "NFKC";
    case UnicodeForm::kNfkd:
      return "NFKD";
  }
  return "unknown";
}

const char* Name(SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      return "removed";
    case SplitBehavior::kIsolated:
      return "isolated";
    case SplitBehavior::kMergedWithPrevious:
      return "merged with previous";
    case SplitBehavior::kMergedWithNext:
      return "merged with next";
    case SplitBehavior::kContiguous:
      return "contiguous";
  }
  return "unknown";
}

std::string Bytes(const std::string& charsmap) {
  return charsmap.empty() ? "no charsmap" : "charsmap of " + std::to_string(charsmap.size()) + " bytes";
}

std::string Text(const Normalizer& normalizer) {
  struct Visitor {
    std::string operator()(const PrecompiledNormalizer& n) const {
      return "Precompiled, " + Bytes(n.charsmap);
    }
    std::string operator()(const ReplaceNormalizer& n) const {
      return std::string("Replace ") + (n.is_regex ? "regular expression " : "") + Quoted(n.pattern) +
             " by " + Quoted(n.content);
    }
    std::string operator()(const SentencePieceNormalizer& n) const {
      return "SentencePiece, " + Bytes(n.charsmap) + ", add_dummy_prefix " + OnOff(n.add_dummy_prefix) +
             ", remove_extra_whitespaces " + OnOff(n.remove_extra_whitespaces) + ", escape_whitespaces " +
             OnOff(n.escape_whitespaces) + ", treat_whitespace_as_suffix " +
             OnOff(n.treat_whitespace_as_suffix);
    }
    std::string operator()(const UnicodeNormalizer& n) const { return Name(n.form); }
    std::string operator()(const NmtNormalizer&) const { return "Nmt"; }
    std::string operator()(const LowercaseNormalizer&) const { return "Lowercase"; }
    std::string operator()(const StripNormalizer& n) const {
      return std::string("Strip, left ") + OnOff(n.strip_left) + ", right " + OnOff(n.strip_right);
    }
    std::string operator()(const StripAccentsNormalizer&) const { return "StripAccents"; }
    std::string operator()(const PrependNormalizer& n) const { return "Prepend " + Quoted(n.prepend); }
    std::string operator()(const BertNormalizer& n) const {
      return std::string("BertNormalizer, clean_text ") + OnOff(n.clean_text) + ", handle_chinese_chars " +
             OnOff(n.handle_chinese_chars) + ", strip_accents " + OnOff(n.strip_accents.value_or(n.lowercase)) +
             ", lowercase " + OnOff(n.lowercase);
    }
  };
  return std::visit(Visitor{}, normalizer);
}

std::string Text(const PreTokenizer& pre_tokenizer) {
  struct Visitor {
    std::string operator()(const WhitespaceSplitPreTokenizer&) const { return "WhitespaceSplit"; }
    std::string operator()(const MetaspacePreTokenizer& m) const {
      return "Metaspace " + Quoted(m.replacement) + ", prepend " + Name(m.prepend_scheme) + ", split " +
             OnOff(m.split);
    }
    std::string operator()(const WhitespacePreTokenizer&) const { return "Whitespace"; }
    std::string operator()(const PunctuationPreTokenizer& p) const {
      return std::string("Punctuation, ") + Name(p.behavior);
    }
    std::string operator()(const DigitsPreTokenizer& d) const {
      return std::string("Digits, individual_digits ") + OnOff(d.individual_digits);
    }
    std::string operator()(const UnicodeScriptsPreTokenizer&) const { return "UnicodeScripts"; }
    std::string operator()(const SplitPreTokenizer& s) const {
      return std::string("Split ") + (s.is_regex ? "regular expression " : "") + Quoted(s.pattern) + ", " +
             Name(s.behavior) + ", invert " + OnOff(s.invert);
    }
    std::string operator()(const BertPreTokenizer&) const { return "BertPreTokenizer"; }
    std::string operator()(const CharDelimiterPreTokenizer& c) const {
      return "CharDelimiterSplit " + Quoted(c.delimiter);
    }
    std::string operator()(const FixedLengthPreTokenizer& f) const {
      return "FixedLength " + std::to_string(f.length);
    }
  };
  return std::visit(Visitor{}, pre_tokenizer);
}

std::string Text(const Decoder& decoder) {
  struct Visitor {
    std::string operator()(const MetaspaceDecoder& m) const {
      return "Metaspace " + Quoted(m.replacement) + ", prepend " + Name(m.prepend_scheme);
    }
    std::string operator()(const SentencePieceDecoder& s) const {
      return "SentencePiece, denormalizer " + Bytes(s.denormalizer_charsmap);
    }
    std::string operator()(const ReplaceDecoder& r) const {
      return std::string("Replace ") + (r.is_regex ? "regular expression " : "") + Quoted(r.pattern) + " by " +
             Quoted(r.content);
    }
    std::string operator()(const ByteFallbackDecoder&) const { return "ByteFallback"; }
    std::string operator()(const FuseDecoder&) const { return "Fuse"; }
    std::string operator()(const StripDecoder& s) const {
      return "Strip " + Quoted(s.content) + ", start " + std::to_string(s.start) + ", stop " + std::to_string(s.stop);
    }
    std::string operator()(const WordPieceDecoder& w) const {
      return "WordPiece " + Quoted(w.prefix) + ", cleanup " + OnOff(w.cleanup);
    }
  };
  return std::visit(Visitor{}, decoder);
}

std::string Text(const std::vector<TemplatePiece>& pieces) {
  std::string out;
  for (const TemplatePiece& piece : pieces) {
    if (!out.empty()) out += ' ';
    if (const auto* special = std::get_if<TemplateSpecial>(&piece)) {
      out += special->content + ':' + std::to_string(special->type_id);
    } else {
      const auto& sequence = std::get<TemplateSequence>(piece);
      out += sequence.sequence == Sequence::kA ? "$A:" : "$B:";
      out += std::to_string(sequence.type_id);
    }
  }
  return out;
}

std::string Text(const AddedToken& token) {
  std::string out = std::to_string(token.id) + " " + Quoted(token.content);
  const std::pair<bool, const char*> flags[] = {{token.special, " special"},
                                                {token.single_word, " single_word"},
                                                {token.lstrip, " lstrip"},
                                                {token.rstrip, " rstrip"},
                                                {token.normalized, " normalized"}};
  for (const auto& [on, name] : flags) {
    if (on) out += name;
  }
  return out;
}

std::string Text(PieceType type) {
  switch (type) {
    case PieceType::kNormal:
      return "normal";
    case PieceType::kUnknown:
      return "unknown";
    case PieceType::kControl:
      return "control";
    case PieceType::kUserDefined:
      return "user-defined";
    case PieceType::kUnused:
      return "unused";
    case PieceType::kByte:
      return "byte";
  }
  return "of an unknown type";
}

template <typename Range>
Entry List(std::string name, const Range& range) {
  Entry entry = {std::move(name), {}};
  for (const auto& element : range) entry.values.push_back(Text(element));
  return entry;
}

std::string PieceCounts(const UnigramModel& model) {
  constexpr PieceType kTypes[] = {PieceType::kNormal,      PieceType::kUnknown, PieceType::kControl,
                                  PieceType::kUserDefined, PieceType::kUnused,  PieceType::kByte};
  size_t counts[std::size(kTypes)] = {};
  for (const Piece& piece : model.pieces) ++counts[static_cast<size_t>(piece.type)];
  std::string out = std::to_string(model.pieces.size());
  const char* between = " (";
  for (const PieceType type : kTypes) {
    const size_t count = counts[static_cast<size_t>(type)];
    if (count == 0) continue;
    out += between + std::to_string(count) + " " + Text(type);
    between = ", ";
  }
  if (!model.pieces.empty()) out += ")";
  return out;
}

std::vector<Entry> Entries(const Tokenizer& tokenizer, double load_seconds) {
  const TokenizerSpec& spec = tokenizer.spec();
  std::vector<Entry> entries;
  entries.push_back({"dialect", {spec.dialect == Dialect::kHuggingFace ? "Hugging Face" : "SentencePiece"}});
  entries.push_back({"pieces", {PieceCounts(spec.model)}});
  entries.push_back({"ids", {std::to_string(tokenizer.vocab().size())}});
  entries.push_back(
      {"unknown id", {spec.model.unk_id.has_value() ? std::to_string(*spec.model.unk_id) : "none"}});
  entries.push_back({"byte fallback", {OnOff(spec.model.byte_fallback)}});
  entries.push_back(List("normalizers", spec.normalizers));
  entries.push_back(List("pre-tokenizers", spec.pre_tokenizers));
  entries.push_back({"template", {Text(spec.post_processor.single)}});
  entries.push_back({"template of a pair", {Text(spec.post_processor.pair)}});
  entries.push_back(List("decoders", spec.decoders));
  Entry special = {"special tokens", {}};
  Entry added = {"other added tokens", {}};
  for (const AddedToken& token : spec.added_tokens) {
    (token.special ? special : added).values.push_back(Text(token));
  }
  for (size_t id = 0; id < spec.model.pieces.size(); ++id) {
    const Piece& piece = spec.model.pieces[id];
    if (piece.type == PieceType::kControl) {
      special.values.push_back(std::to_string(id) + " " + Quoted(piece.text) + " control piece");
    }
  }
  entries.push_back(std::move(special));
  entries.push_back(std::move(added));
  for (const TableFact& fact : tokenizer.Facts()) entries.push_back({fact.name, {fact.value}});
  char milliseconds[32];
  std::snprintf(milliseconds, sizeof(milliseconds), "%.1f ms", load_seconds * 1e3);
  entries.push_back({"load time, file included", {milliseconds}});
  return entries;
}

std::string AsTable(const std::vector<Entry>& entries) {
  Table table({});
  for (const Entry& entry : entries) {
    if (entry.values.empty()) table.Add({entry.name, "none"});
    for (size_t i = 0; i < entry.values.size(); ++i) table.Add({i == 0 ? entry.name : "", entry.values[i]});
  }
  std::string out;
  table.Print(out);
  return out;
}

// A name with one value is a string, the lists are arrays whatever they hold.
std::string AsJson(const std::vector<Entry>& entries) {
  static constexpr std::string_view kLists[] = {"normalizers", "pre-tokenizers", "decoders", "special tokens",
                                                "other added tokens"};
  std::string out = "{";
  for (const Entry& entry : entries) {
    if (out.size() > 1) out += ',';
    AppendJsonString(entry.name, out);
    out += ':';
    if (std::find(std::begin(kLists), std::end(kLists), entry.name) == std::end(kLists)) {
      AppendJsonString(entry.values.front(), out);
    } else {
      AppendJsonArray(entry.values, out, AppendJsonString);
    }
  }
  out += "}\n";
  return out;
}

absl::Status Run(const Settings& settings) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<Tokenizer> tokenizer = LoadModel(settings.model);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (!tokenizer.ok()) return tokenizer.status();
  const std::vector<Entry> entries = Entries(*tokenizer, spent.count());
  return WriteStandardOutput(settings.json ? AsJson(entries) : AsTable(entries));
}

}  // namespace

Command AddInfoCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("info", kAbout);
  auto settings = std::make_shared<Settings>();
  AddModelOptions(*app, settings->model);
  app->add_flag("--json", settings->json, "print one JSON object");
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
