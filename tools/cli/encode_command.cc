#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/encode_flags.h"
#include "tools/cli/encoding_json.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/jsonl_input.h"
#include "tools/cli/line_reader.h"
#include "tools/cli/model_options.h"
#include "tools/cli/parallel_lines.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/template_layout.h"
#include "tools/cli/text_encoder.h"
#include "trellis/code_point_offsets.h"
#include "trellis/padding.h"

namespace trellis::cli {
namespace {

constexpr char kAbout[] =
    "Encode one text per line; prints its token ids, separated by blanks.\n"
    "Input lines end in \\n; a \\r before it belongs to the text.";

constexpr char kFooter[] =
    "--json prints {\"ids\",\"tokens\",\"offsets\",\"type_ids\",\"special_tokens_mask\"}, one object a "
    "line.\n"
    "\"tokens\" are the vocabulary's strings of the ids (<unk> for what is unknown, <mask> for a mask "
    "without\n"
    "the blanks that it took in); the text behind a token is what its offsets say. Each token of a pair "
    "counts\n"
    "from the start of its own text.\n"
    "--jsonl reads a JSON string a line, or an object {\"text\" or \"text_base64\", \"pair\", "
    "\"add_special_tokens\",\n\"max_length\", \"truncation\", \"truncation_side\"}; what it leaves out is as "
    "the options say.";

struct Settings {
  ModelOptions model;
  std::vector<std::string> files;
  EncodeFlags flags;
  bool json = false;
  bool jsonl = false;
  bool char_offsets = false;
  bool file_truncation = false;
  bool file_padding = false;
  bool overflow = false;
  std::optional<size_t> stride;
  unsigned threads = 1;
};

// Byte offsets of an encoding as code points of the text that each token is of.
class CharOffsets {
 public:
  explicit CharOffsets(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), counter_(tokenizer, TextEncoder::Columns::kIds) {}

  absl::Status Convert(const TextRequest& request, std::span<const Offset> bytes) {
    offsets_.assign(bytes.begin(), bytes.end());
    first_.SetText(request.input.text);
    if (!request.input.pair.has_value()) {
      for (Offset& offset : offsets_) offset = first_.FromBytes(offset);
      return absl::OkStatus();
    }
    second_.SetText(*request.input.pair);
    absl::StatusOr<PairLengths> kept = Kept(request);
    if (!kept.ok()) return kept.status();
    size_t at = 0;
    for (const TemplatePiece& piece : tokenizer_.spec_without_pieces().post_processor.pair) {
      if (const auto* special = std::get_if<TemplateSpecial>(&piece)) {
        if (request.options.add_special_tokens) at += special->ids.size();
        continue;
      }
      const bool is_first = std::get<TemplateSequence>(piece).sequence == Sequence::kA;
      const size_t end = std::min(at + (is_first ? kept->first : kept->second), offsets_.size());
      for (; at < end; ++at) offsets_[at] = (is_first ? first_ : second_).FromBytes(offsets_[at]);
    }
    return absl::OkStatus();
  }

  std::span<const Offset> offsets() const { return offsets_; }

 private:
  // An encoding does not say where the first text ends, so each is encoded alone.
  absl::StatusOr<PairLengths> Kept(const TextRequest& request) {
    EncodeOptions alone = request.options;
    alone.add_special_tokens = false;
    alone.truncate = Truncate::kNever;
    PairLengths lengths = {};
    for (const auto& [text, length] :
         {std::pair{request.input.text, &lengths.first}, std::pair{*request.input.pair, &lengths.second}}) {
      absl::StatusOr<Encoding> encoding = counter_.Encode({text}, alone);
      if (!encoding.ok()) return encoding.status();
      *length = encoding->ids.size();
    }
    const size_t specials =
        request.options.add_special_tokens ? SpecialCount(tokenizer_.spec_without_pieces(), request.input) : 0;
    return KeptLengths(lengths, request.options, specials);
  }

  const Tokenizer& tokenizer_;
  TextEncoder counter_;
  CodePointOffsets first_, second_;
  std::vector<Offset> offsets_;
};

class EncodeWorker final : public LineWorker {
 public:
  EncodeWorker(const Tokenizer& tokenizer, const Settings& settings)
      : tokenizer_(tokenizer),
        settings_(settings),
        input_(settings.flags),
        encoder_(tokenizer, settings.json ? TextEncoder::Columns::kAll : TextEncoder::Columns::kIds),
        char_offsets_(tokenizer) {
    request_.options = settings.flags.Options();
  }

  absl::Status Line(std::string_view line, std::string& out) override {
    if (settings_.jsonl) {
      const absl::Status parsed = input_.Parse(line, request_);
      if (!parsed.ok()) return parsed;
    } else {
      request_.input.text = line;
    }
    EncodeOptions options = request_.options;
    if (settings_.file_truncation && options.truncate == Truncate::kNever) {
      options = WithFileTruncation(tokenizer_.spec_without_pieces(), options);
    }
    if (settings_.stride.has_value()) options.stride = *settings_.stride;
    const bool pads = settings_.file_padding && tokenizer_.spec_without_pieces().padding.has_value();
    if (pads || settings_.overflow) return AppendRows(options, out);

    absl::StatusOr<Encoding> encoding = encoder_.Encode(request_.input, options);
    if (!encoding.ok()) return encoding.status();
    if (!settings_.json) {
      AppendIds(encoding->ids, out);
      return absl::OkStatus();
    }
    std::span<const Offset> offsets = encoding->offsets;
    if (settings_.char_offsets) {
      request_.options = options;
      const absl::Status converted = char_offsets_.Convert(request_, offsets);
      if (!converted.ok()) return converted;
      offsets = char_offsets_.offsets();
    }
    AppendRow(tokenizer_.vocab(), {encoding->ids, offsets, encoding->type_ids, encoding->special_tokens_mask}, out);
    out += "}\n";
    return absl::OkStatus();
  }

 private:
  static void AppendIds(std::span<const TokenId> ids, std::string& out) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) out += ' ';
      AppendInteger(ids[i], out);
    }
    out += '\n';
  }

  // The row of an input, padded when that is wanted; then what overflows.
  absl::Status AppendRows(const EncodeOptions& options, std::string& out) const {
    absl::StatusOr<std::vector<EncodedText>> rows = Rows(options);
    if (!rows.ok()) return ExplainedEncodeError(rows.status(), tokenizer_, request_.input, options);
    const int32_t ends[] = {0, static_cast<int32_t>(rows->front().ids.size())};
    const std::optional<Padding> padding = settings_.file_padding ? tokenizer_.spec_without_pieces().padding : std::nullopt;
    const size_t length = padding.has_value() ? PaddedLength(ends, *padding) : 0;
    const auto append = [&](EncodedText& row) {
      std::vector<uint8_t> attention;
      if (padding.has_value()) attention = Pad(row, length, *padding);
      if (!settings_.json) return AppendIds(row.ids, out);
      AppendRow(tokenizer_.vocab(), {row.ids, row.offsets, row.type_ids, row.special_tokens_mask,
                                     padding.has_value() ? std::optional<std::span<const uint8_t>>(attention) : std::nullopt},
                out);
    };
    append(rows->front());
    if (!settings_.json) return absl::OkStatus();
    if (settings_.overflow) {
      out += ",\"overflowing\":[";
      for (size_t i = 1; i < rows->size(); ++i) {
        if (i > 1) out += ',';
        append((*rows)[i]);
        out += '}';
      }
      out += ']';
    }
    out += "}\n";
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<EncodedText>> Rows(const EncodeOptions& options) const {
    if (settings_.overflow) return tokenizer_.EncodeWindows(request_.input, options);
    absl::StatusOr<EncodedText> row = tokenizer_.Encode(request_.input, options);
    if (!row.ok()) return row.status();
    std::vector<EncodedText> rows;
    rows.push_back(*std::move(row));
    return rows;
  }

  const Tokenizer& tokenizer_;
  const Settings& settings_;
  JsonlInput input_;
  TextRequest request_;
  TextEncoder encoder_;
  CharOffsets char_offsets_;
};

absl::Status Run(const Settings& settings) {
  absl::StatusOr<Tokenizer> tokenizer = LoadModel(settings.model);
  if (!tokenizer.ok()) return tokenizer.status();
  LineReader reader(settings.files);
  return RunLines(reader, ThreadCount(settings.threads),
                  {[&] { return std::make_unique<EncodeWorker>(*tokenizer, settings); },
                   [](const LineChunk&, std::string_view out) { return WriteStandardOutput(out); }});
}

}  // namespace

Command AddEncodeCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("encode", kAbout);
  app->footer(kFooter);
  auto settings = std::make_shared<Settings>();
  AddModelOptions(*app, settings->model);
  app->add_option("FILE", settings->files, "files to read; - is standard input, and so is none")->type_name("PATH");
  AddEncodeFlags(*app, settings->flags);
  CLI::Option* json = app->add_flag("--json", settings->json, "print one JSON object a line");
  app->add_flag("--jsonl", settings->jsonl, "read one JSON string or object a line");
  app->add_flag(
         "--char-offsets", settings->char_offsets,
         "offsets in code points, not bytes; malformed UTF-8 counts one for each replacement character")
      ->needs(json);
  app->add_flag("--file-truncation", settings->file_truncation,
                "cut as the file's truncation section says, where there is no max_length");
  app->add_flag("--file-padding", settings->file_padding,
                "pad each text as the file's padding section says; --json then has \"attention_mask\"");
  app->add_flag("--overflow", settings->overflow,
                "with --json, what was cut off as further rows: \"overflowing\", windows of at most max_length")
      ->needs(json);
  app->add_option("--stride", settings->stride, "tokens that a window shares with the one before it")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--threads", settings->threads,
                  "threads that encode, 1 unless given; 0: one for each core; the order of lines is kept")
      ->check(CLI::Range(0, 1024));
  app->callback([settings] {
    if (settings->char_offsets && (settings->overflow || settings->file_padding)) {
      throw CLI::ValidationError("--char-offsets", "goes neither with --overflow nor with --file-padding");
    }
    if (settings->flags.truncate.has_value() && !settings->flags.max_length.has_value() && !settings->jsonl) {
      throw CLI::ValidationError("--truncation", "needs --max-length");
    }
  });
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
