#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tools/completion/scripts.h"

namespace trellis::completion {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// What may be written for an option or in a place; -x is for a value that must be there and is no file.
std::string Value(const Argument& argument) {
  const absl::string_view required = argument.count == Argument::Count::kOptional ? "" : " -x";
  switch (argument.kind) {
    case Argument::Kind::kWords:
      return absl::StrCat(required, " -a ", Quoted(absl::StrJoin(argument.words, " ")));
    case Argument::Kind::kFile:
      return " -r -F";
    case Argument::Kind::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case Argument::Kind::kAnything:
      return std::string(required);
    case Argument::Kind::kNone:
      break;
  }
  return "";
}

// `start`: `complete` with the condition under which the command's words are expected.
void AddCommand(const CommandShape& command, absl::string_view start, std::string& out) {
  for (const OptionShape& option : command.options) {
    absl::StrAppend(&out, start);
    for (const std::string& name : option.short_names) absl::StrAppend(&out, " -s ", name);
    for (const std::string& name : option.long_names) absl::StrAppend(&out, " -l ", name);
    absl::StrAppend(&out, Value(option.argument), " -d ", Quoted(option.about), "\n");
  }
  // fish does not count places: what one of them takes may stand in any.
  bool file = false, folder = false;
  for (const PlaceShape& place : command.places) {
    file |= place.argument.kind == Argument::Kind::kFile;
    folder |= place.argument.kind == Argument::Kind::kFolder;
  }
  if (file) {
    absl::StrAppend(&out, start, " -F\n");
  } else if (folder) {
    absl::StrAppend(&out, start, " -a '(__fish_complete_directories)'\n");
  }
}

}  // namespace

std::string FishScript(const CommandShape& program) {
  const std::string complete = absl::StrCat("complete -c ", program.name);
  std::string out = absl::StrCat("# Completion of ", program.name, " for fish, written by `", program.name,
                                 " --completion fish`.\n", complete, " -f\n");
  const bool commands = !program.commands.empty();
  AddCommand(program, commands ? absl::StrCat(complete, " -n __fish_use_subcommand") : complete, out);
  for (const CommandShape& command : program.commands) {
    absl::StrAppend(&out, complete, " -n __fish_use_subcommand -a ", command.name, " -d ",
                    Quoted(command.about), "\n");
    AddCommand(command, absl::StrCat(complete, " -n '__fish_seen_subcommand_from ", command.name, "'"), out);
  }
  return out;
}

}  // namespace trellis::completion
