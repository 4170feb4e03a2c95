#include "serve/engine/engine_settings.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace trellis::engine {
namespace {

constexpr EngineSettings kSettings("loom", "speed=2");

using Pairs = std::vector<std::pair<std::string, std::string>>;

// What `set` was called with, and how it ended; a key "stop" is an error of its own.
std::pair<Pairs, std::string> Seen(std::string_view spec) {
  Pairs seen;
  const auto status = kSettings.ForEach(spec, [&seen](std::string_view key, std::string_view value) {
    if (key == "stop") return kSettings.Invalid(key, value, "to go on");
    seen.emplace_back(key, value);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument) << status;
  return {seen, std::string(status.message())};
}

TEST(EngineSettings, AFolderAndWhatIsLeft) {
  const std::pair<const char*, std::pair<const char*, const char*>> cases[] = {
      {"some/folder", {"some/folder", ""}},
      {"f,a=1,b=2", {"f", "a=1,b=2"}},
      {"f,", {"f", ""}},
      {"a=1", {"a=1", ""}},  // a folder may have any character but the comma
  };
  for (const auto& [spec, expected] : cases) {
    std::string_view rest = spec;
    const auto folder = kSettings.TakeFolder(rest);
    ASSERT_TRUE(folder.ok()) << folder.status();
    EXPECT_EQ(*folder, expected.first);
    EXPECT_EQ(rest, expected.second);
  }
  for (std::string_view none : {"", ",a=1"}) {
    EXPECT_EQ(kSettings.TakeFolder(none).status().message(),
              "loom: folder: \"\", expected a model's folder, as in loom:FOLDER,speed=2");
  }
}

TEST(EngineSettings, EachSettingInItsOrder) {
  EXPECT_EQ(Seen(""), std::make_pair(Pairs{}, std::string()));
  EXPECT_EQ(Seen("b=2,a=1"), std::make_pair(Pairs{{"b", "2"}, {"a", "1"}}, std::string()));
  // The first = divides; a value may be empty or have more of them.
  EXPECT_EQ(Seen("a=,b=c=d"), std::make_pair(Pairs{{"a", ""}, {"b", "c=d"}}, std::string()));
}

TEST(EngineSettings, TheFirstErrorEndsIt) {
  EXPECT_EQ(Seen("a=1,fast,b=2"),
            std::make_pair(Pairs{{"a", "1"}},
                           std::string("loom: setting: \"fast\", expected key=value, as in speed=2")));
  EXPECT_EQ(Seen("a=1,,b=2"),
            std::make_pair(Pairs{{"a", "1"}},
                           std::string("loom: setting: \"\", expected key=value, as in speed=2")));
  EXPECT_EQ(Seen("a=1,a=2,b=3"),
            std::make_pair(Pairs{{"a", "1"}}, std::string("loom: a: \"2\", expected each key once")));
  EXPECT_EQ(Seen("a=1,stop=now,b=2"),
            std::make_pair(Pairs{{"a", "1"}}, std::string("loom: stop: \"now\", expected to go on")));
}

TEST(EngineSettings, WholeNumbersFromLeastToMost) {
  EXPECT_EQ(*kSettings.Number("n", "-3", -3, 5), -3);
  EXPECT_EQ(*kSettings.Number("n", "5", -3, 5), 5);
  EXPECT_EQ(*kSettings.Number("n", "007", -3, 7), 7);
  for (const char* text :
       {"", "-4", "6", "+1", " 1", "1 ", "1x", "0x1", "1.0", "99999999999999999999", "five"}) {
    EXPECT_EQ(kSettings.Number("n", text, -3, 5).status().message(),
              "loom: n: \"" + std::string(text) + "\", expected a whole number from -3 to 5");
  }
}

}  // namespace
}  // namespace trellis::engine
