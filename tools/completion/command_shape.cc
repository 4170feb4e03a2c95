#include "tools/completion/command_shape.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace trellis::completion {
namespace {

// The first sentence, or what stands before a semicolon, on one line: shells have little room.
std::string FirstSentence(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const size_t end = std::min({text.find(". "), text.find("; "), text.size()});
  text.resize(end);
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

std::vector<std::string> Split(std::string_view list, char between) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const size_t end = std::min(list.find(between), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

// Out of TEXT:{a,b}, as CLI::IsMember says it, or a|b=a, whose end is the default.
std::vector<std::string> WordsOf(std::string_view type) {
  const size_t open = type.find('{');
  if (open != std::string_view::npos) {
    return Split(type.substr(open + 1, type.find('}', open) - open - 1), ',');
  }
  if (type.find('|') == std::string_view::npos) return {};
  return Split(type.substr(0, type.find('=')), '|');
}

Argument ArgumentOf(const CLI::Option& option) {
  Argument argument;
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() == 0) {
    argument.kind = Argument::Kind::kNone;
    return argument;
  }
  argument.words = WordsOf(type);
  if (!argument.words.empty()) argument.kind = Argument::Kind::kWords;
  if (type == "PATH") argument.kind = Argument::Kind::kFile;
  if (type == "FOLDER") argument.kind = Argument::Kind::kFolder;
  if (option.get_items_expected_max() > 1) {
    argument.count = Argument::Count::kMany;
  } else if (option.get_items_expected_min() == 0) {
    argument.count = Argument::Count::kOptional;
  }
  return argument;
}

}  // namespace

CommandShape ShapeOf(const CLI::App& app) {
  CommandShape shape;
  shape.name = app.get_name();
  shape.about = FirstSentence(app.get_description());
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      shape.options.push_back({option->get_snames(), option->get_lnames(),
                               FirstSentence(option->get_description()), ArgumentOf(*option)});
    } else {
      shape.places.push_back({option->get_name(/*positional=*/true), ArgumentOf(*option)});
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    shape.commands.push_back(ShapeOf(*command));
  }
  return shape;
}

}  // namespace trellis::completion
