#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/encode_flags.h"
#include "tools/cli/model_options.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/table.h"
#include "tools/cli/text_encoder.h"
#include "trellis/internal/explain.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::cli {
namespace {

using internal::Explanation;

constexpr char kAbout[] =
    "Show every stage of one text: segments, normalized text, pre-tokens, pieces with their scores, tokens.\n"
    "The stages are those of the plain path; the tokens are what encode says. Ranges are bytes of the text.\n"
    "A TEXT that begins with - goes after --.";

struct Settings {
  ModelOptions model;
  std::string text;
  EncodeFlags flags;
};

std::string Range(size_t begin, size_t end) { return std::to_string(begin) + "-" + std::to_string(end); }

std::string Score(double score) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.6f", score);
  return digits;
}

void AddSection(std::string_view title, const Table& table, std::string& out) {
  if (!out.empty()) out += '\n';
  out += title;
  out += '\n';
  table.Print(out);
}

Table Segments(const Explanation& explanation, const Tokenizer& tokenizer, std::string_view text) {
  Table table({"#", "bytes", "text", "kind"});
  for (size_t i = 0; i < explanation.segments.size(); ++i) {
    const Explanation::Segment& segment = explanation.segments[i];
    std::string kind = "plain text";
    if (segment.added_token >= 0) {
      kind = "added token " + std::to_string(segment.added_token) + " " +
             Quoted(tokenizer.vocab().Text(segment.added_token));
    }
    table.Add({std::to_string(i), Range(segment.begin, segment.end),
               Quoted(text.substr(segment.begin, segment.end - segment.begin)), std::move(kind)});
  }
  return table;
}

// Rows of a normalized text: as long as its characters come one to one from
// neighbouring characters, or all from the same one.
void AddNormalized(size_t number, const Explanation::Segment& segment, Table& table) {
  const std::string_view text = segment.normalized;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t last = begin;
    size_t end = begin + internal::DecodeUtf8(text.substr(begin)).length;
    enum class Kind { kOpen, kNeighbours, kSame } kind = Kind::kOpen;
    while (end < text.size()) {
      const size_t step = segment.source[end] - segment.source[last];
      const Kind next = step == end - last ? Kind::kNeighbours : step == 0 ? Kind::kSame : Kind::kOpen;
      if (next == Kind::kOpen || (kind != Kind::kOpen && kind != next)) break;
      const size_t after = end + internal::DecodeUtf8(text.substr(end)).length;
      // The first of several from one character belongs to their row.
      if (next == Kind::kNeighbours && after < text.size() && segment.source[after] == segment.source[end])
        break;
      kind = next;
      last = end;
      end = after;
    }
    const std::string from = std::to_string(segment.source[begin]);
    const std::string to = std::to_string(segment.source[last]);
    table.Add({std::to_string(number), Range(begin, end), Quoted(text.substr(begin, end - begin)),
               from == to ? from : from + " to " + to});
    begin = end;
  }
}

Table Normalized(const Explanation& explanation) {
  Table table({"segment", "normalized bytes", "normalized text", "characters that begin at byte"});
  for (size_t i = 0; i < explanation.segments.size(); ++i) {
    if (explanation.segments[i].added_token < 0) AddNormalized(i, explanation.segments[i], table);
  }
  return table;
}

Table PreTokens(const Explanation& explanation) {
  Table table({"#", "segment", "bytes", "pre-token"});
  for (size_t i = 0; i < explanation.pre_tokens.size(); ++i) {
    const Explanation::PreTokenRow& row = explanation.pre_tokens[i];
    table.Add({std::to_string(i), std::to_string(row.segment), Range(row.begin, row.end), Quoted(row.text)});
  }
  return table;
}

Table Pieces(const Explanation& explanation, const Tokenizer& tokenizer) {
  Table table({"pre-token", "bytes", "id", "score", "covers", "piece"});
  for (const Explanation::PieceRow& row : explanation.pieces) {
    table.Add({std::to_string(row.pre_token), Range(row.begin, row.end), std::to_string(row.id),
               Score(row.score), Quoted(row.text), Quoted(tokenizer.vocab().Text(row.id))});
  }
  return table;
}

Table Tokens(const EncodedText& tokens, const Tokenizer& tokenizer, std::string_view text) {
  Table table({"#", "id", "bytes", "type", "special", "token", "text"});
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    const Offset offset = tokens.offsets[i];
    table.Add({std::to_string(i), std::to_string(tokens.ids[i]), Range(offset.begin, offset.end),
               std::to_string(tokens.type_ids[i]), std::to_string(tokens.special_tokens_mask[i]),
               Quoted(tokenizer.vocab().Text(tokens.ids[i])),
               Quoted(text.substr(offset.begin, offset.end - offset.begin))});
  }
  return table;
}

absl::Status Run(const Settings& settings) {
  absl::StatusOr<Tokenizer> tokenizer = LoadModel(settings.model);
  if (!tokenizer.ok()) return tokenizer.status();
  const EncodeOptions options = settings.flags.Options();
  absl::StatusOr<Explanation> explanation = internal::Explain(*tokenizer, settings.text, options);
  if (!explanation.ok()) {
    const absl::Status error =
        ExplainedEncodeError(explanation.status(), *tokenizer, {settings.text}, options);
    return absl::Status(error.code(), "TEXT: " + std::string(error.message()));
  }
  std::string out;
  AddSection("segments", Segments(*explanation, *tokenizer, settings.text), out);
  AddSection("normalized", Normalized(*explanation), out);
  AddSection("pre-tokens", PreTokens(*explanation), out);
  AddSection("pieces", Pieces(*explanation, *tokenizer), out);
  AddSection("tokens", Tokens(explanation->tokens, *tokenizer, settings.text), out);
  if (explanation->tokens.num_truncated > 0) {
    out += "  (" + std::to_string(explanation->tokens.num_truncated) + " tokens were cut off)\n";
  }
  return WriteStandardOutput(out);
}

}  // namespace

Command AddExplainCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("explain", kAbout);
  auto settings = std::make_shared<Settings>();
  AddModelOptions(*app, settings->model);
  app->add_option("TEXT", settings->text, "the text")->required();
  AddEncodeFlags(*app, settings->flags);
  app->callback([settings] {
    if (settings->flags.truncate.has_value() && !settings->flags.max_length.has_value()) {
      throw CLI::ValidationError("--truncation", "needs --max-length");
    }
  });
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
