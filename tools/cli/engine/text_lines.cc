#include "tools/cli/engine/text_lines.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "tools/cli/line_reader.h"

namespace trellis::cli {
namespace {

absl::Status ReadLine(std::string_view line, LineForm form, JsonlInput& json, TextRequest& request) {
  if (form == LineForm::kText) {
    request.input.text = line;
    return absl::OkStatus();
  }
  if (const absl::Status parsed = json.Parse(line, request); !parsed.ok()) return parsed;
  if (request.input.pair.has_value())
    return absl::InvalidArgumentError("field \"pair\": expected one text a line");
  return absl::OkStatus();
}

}  // namespace

absl::Status ForEachText(const std::vector<std::string>& files, LineForm form, const EncodeFlags& defaults,
                         const TextWork& work) {
  LineReader reader(files);
  JsonlInput json(defaults);
  LineChunk chunk;
  TextRequest request;
  request.options = defaults.Options();
  while (reader.Next(chunk)) {
    for (size_t i = 0; i < chunk.line_count(); ++i) {
      absl::Status status = ReadLine(chunk.Line(i), form, json, request);
      if (status.ok()) status = work.each(request);
      if (status.ok()) continue;
      if (const absl::Status paused = work.pause(); !paused.ok()) return paused;
      return absl::Status(status.code(), absl::StrCat(chunk.Place(i), ": ", std::string(status.message())));
    }
    if (const absl::Status paused = work.pause(); !paused.ok()) return paused;
  }
  return reader.status();
}

}  // namespace trellis::cli
