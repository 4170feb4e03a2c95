// "FOLDER,key=value,...": how engines are said on a command line. An error names key, value and what was
// expected, after the engine's name.
#ifndef TRELLIS_SERVE_ENGINE_ENGINE_SETTINGS_H_
#define TRELLIS_SERVE_ENGINE_ENGINE_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trellis::engine {

class EngineSettings {
 public:
  // `example`: some settings of this engine, for errors. Both are literals.
  constexpr EngineSettings(std::string_view engine, std::string_view example)
      : engine_(engine), example_(example) {}

  absl::Status Invalid(std::string_view key, std::string_view value, std::string_view expected) const;

  // What stands before the first comma, or all; `spec` is left with what comes after. A folder with a comma
  // in its name cannot be said.
  absl::StatusOr<std::string> TakeFolder(std::string_view& spec) const;

  // "key=value,...", each key once, in the order in which they stand. The first error ends it.
  using Set = std::function<absl::Status(std::string_view key, std::string_view value)>;
  absl::Status ForEach(std::string_view spec, const Set& set) const;

  // In decimal, from `least` to `most`.
  absl::StatusOr<int64_t> Number(std::string_view key, std::string_view value, int64_t least,
                                 int64_t most) const;

 private:
  std::string_view engine_, example_;
};

// A whole number in decimal and nothing else. False: it is none, or not from `least` to `most`.
bool ParseWhole(std::string_view text, int64_t least, int64_t most, int64_t& number);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_ENGINE_SETTINGS_H_
