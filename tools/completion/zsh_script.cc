#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tools/completion/scripts.h"

namespace trellis::completion {
namespace {

// Inside '...', where _arguments reads brackets, colons and backslashes by itself.
std::string Quoted(absl::string_view text) {
  return absl::StrReplaceAll(
      text,
      {{"'", "'\\''"}, {"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"`", "\\`"}, {"$", "\\$"}});
}

std::string Action(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kWords:
      return absl::StrCat("(", absl::StrJoin(argument.words, " "), ")");
    case Argument::Kind::kFile:
      return "_files";
    case Argument::Kind::kFolder:
      return "_files -/";
    case Argument::Kind::kNone:
    case Argument::Kind::kAnything:
      break;
  }
  return " ";
}

// One line of _arguments for each name of an option.
void AddOption(const OptionShape& option, absl::string_view indent, std::string& out) {
  const Argument& argument = option.argument;
  const bool flag = argument.kind == Argument::Kind::kNone;
  const absl::string_view again = argument.count == Argument::Count::kMany ? "*" : "";
  const auto add = [&](absl::string_view dashes, const std::string& name, absl::string_view joins) {
    absl::StrAppend(&out, indent, "'", again, dashes, name, flag ? "" : joins, "[", Quoted(option.about),
                    "]");
    if (!flag) {
      absl::StrAppend(&out, argument.count == Argument::Count::kOptional ? "::" : ":", name, ":",
                      Action(argument));
    }
    out += "' \\\n";
  };
  for (const std::string& name : option.short_names) add("-", name, "+");
  for (const std::string& name : option.long_names) add("--", name, "=");
}

// Ends with a line that a backslash goes on from.
void AddArguments(const CommandShape& command, absl::string_view indent, std::string& out) {
  const std::string deeper = absl::StrCat(indent, "  ");
  absl::StrAppend(&out, indent, "_arguments -S -C \\\n");
  for (const OptionShape& option : command.options) AddOption(option, deeper, out);
  for (const PlaceShape& place : command.places) {
    const bool many = place.argument.count == Argument::Count::kMany;
    absl::StrAppend(&out, deeper, many ? "'*:" : "':", Quoted(place.name), ":", Action(place.argument),
                    "' \\\n");
  }
}

void AddCommands(const CommandShape& program, std::string& out) {
  absl::StrAppend(&out, "    '1:command:->command' \\\n    '*::argument:->argument' && return\n",
                  "  case $state in\n    command)\n      local -a commands=(\n");
  for (const CommandShape& command : program.commands) {
    absl::StrAppend(&out, "        '", command.name, ":", Quoted(command.about), "'\n");
  }
  out += "      )\n      _describe command commands\n      ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandShape& command : program.commands) {
    absl::StrAppend(&out, "        ", command.name, ")\n");
    AddArguments(command, "          ", out);
    out += "            && return\n          ;;\n";
  }
  out += "      esac\n      ;;\n  esac\n";
}

}  // namespace

std::string ZshScript(const CommandShape& program) {
  const std::string function = FunctionName(program);
  std::string out =
      absl::StrCat("#compdef ", program.name, "\n# Written by `", program.name, " --completion zsh`.\n\n",
                   function, "() {\n  local context state state_descr line\n  typeset -A opt_args\n");
  AddArguments(program, "  ", out);
  if (program.commands.empty()) {
    out += "    && return\n";
  } else {
    AddCommands(program, out);
  }
  // A file of $fpath is the function's body when it is called first; sourced, it only defines.
  absl::StrAppend(&out, "  return 1\n}\n\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  ", function,
                  " \"$@\"\nelse\n  compdef ", function, " ", program.name, "\nfi\n");
  return out;
}

}  // namespace trellis::completion
