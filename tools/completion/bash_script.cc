#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tools/completion/scripts.h"

namespace trellis::completion {
namespace {

// Everything is one table: what is expected after an option ("encode --trie"), in a place ("encode 0"), and
// as an option's name ("encode -"). Words, or a kind of word that bash knows itself.
std::string Expected(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kWords:
      return absl::StrJoin(argument.words, " ");
    case Argument::Kind::kFile:
      return "@file";
    case Argument::Kind::kFolder:
      return "@folder";
    case Argument::Kind::kNone:
    case Argument::Kind::kAnything:
      break;
  }
  return "@anything";
}

void AddRow(absl::string_view pattern, absl::string_view expected, std::string& out) {
  absl::StrAppend(&out, "    ", pattern, ") expected='", expected, "' ;;\n");
}

void AddRows(const CommandShape& command, absl::string_view key, std::string& out) {
  std::vector<std::string> names;
  for (const OptionShape& option : command.options) {
    std::vector<std::string> patterns;
    const auto add = [&](absl::string_view dashes, const std::string& name) {
      names.push_back(absl::StrCat(dashes, name));
      patterns.push_back(absl::StrCat("'", key, " ", names.back(), "'"));
    };
    for (const std::string& name : option.short_names) add("-", name);
    for (const std::string& name : option.long_names) add("--", name);
    if (option.argument.kind != Argument::Kind::kNone)
      AddRow(absl::StrJoin(patterns, "|"), Expected(option.argument), out);
  }
  AddRow(absl::StrCat("'", key, " -'"), absl::StrJoin(names, " "), out);
  for (size_t i = 0; i < command.places.size(); ++i) {
    const Argument& argument = command.places[i].argument;
    // One that takes many comes last; the places before it have their rows above.
    const bool many = argument.count == Argument::Count::kMany;
    AddRow(many ? absl::StrCat("'", key, " '[0-9]*") : absl::StrCat("'", key, " ", i, "'"),
           Expected(argument), out);
  }
}

constexpr char kTable[] = R"(# Completion of PROGRAM for bash, written by `PROGRAM --completion bash`.

FUNCTION_expects() {
  case $1 in
)";

constexpr char kFunction[] = R"(    *) return 1 ;;
  esac
}

FUNCTION() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' option='' place=0 expected='' word i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == '=' ]]; then  # bash cuts --name=value there
      continue
    elif [[ $word == -?* ]]; then
      option=''
      if FUNCTION_expects "$command $word"; then option=$word; fi
    elif [[ $option ]]; then
      option=''
FIRST    else
      place=$((place + 1))
    fi
  done
  if [[ $current == '=' ]]; then current=''; fi
  if [[ $current == -* ]]; then
    option='-'
  elif [[ ! $option ]]; then
    option=$place
  fi
  COMPREPLY=()
  expected='@anything'
  FUNCTION_expects "$command $option"
  case $expected in
    @file) compopt -o default ;;
    @folder) compopt -o dirnames ;;
    @anything) ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$expected" -- "$current") ;;
  esac
}

complete -F FUNCTION PROGRAM
)";

// For a program that has commands.
constexpr char kFirst[] = R"(    elif [[ ! $command ]]; then
      command=$word
)";

}  // namespace

std::string BashScript(const CommandShape& program) {
  std::string rows;
  AddRows(program, "", rows);
  std::vector<std::string> commands;
  for (const CommandShape& command : program.commands) {
    AddRows(command, command.name, rows);
    commands.push_back(command.name);
  }
  if (!commands.empty()) AddRow("' 0'", absl::StrJoin(commands, " "), rows);
  const auto filled = [&](absl::string_view text) {
    return absl::StrReplaceAll(text, {{"PROGRAM", program.name},
                                      {"FUNCTION", FunctionName(program)},
                                      {"FIRST", commands.empty() ? "" : kFirst}});
  };
  return absl::StrCat(filled(kTable), rows, filled(kFunction));
}

}  // namespace trellis::completion
