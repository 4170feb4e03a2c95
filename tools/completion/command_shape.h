// What a program takes on its command line, read out of its CLI11 app: what a shell needs to know of it.
#ifndef TRELLIS_TOOLS_COMPLETION_COMMAND_SHAPE_H_
#define TRELLIS_TOOLS_COMPLETION_COMMAND_SHAPE_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace trellis::completion {

// What is written for an option or in a place. An option whose type name is PATH takes a file, one whose type
// name is FOLDER a folder, and one with CLI::IsMember, or a type name such as a|b, those words.
struct Argument {
  enum class Kind : uint8_t { kNone, kAnything, kFile, kFolder, kWords };
  enum class Count : uint8_t { kOne, kOptional, kMany };
  Kind kind = Kind::kAnything;
  Count count = Count::kOne;
  std::vector<std::string> words;
};

struct OptionShape {
  std::vector<std::string> short_names;  // without dashes
  std::vector<std::string> long_names;
  std::string about;
  Argument argument;  // kNone: a flag
};

struct PlaceShape {
  std::string name;
  Argument argument;
};

struct CommandShape {
  std::string name;
  std::string about;
  std::vector<OptionShape> options;
  std::vector<PlaceShape> places;
  std::vector<CommandShape> commands;
};

CommandShape ShapeOf(const CLI::App& app);

}  // namespace trellis::completion

#endif  // TRELLIS_TOOLS_COMPLETION_COMMAND_SHAPE_H_
