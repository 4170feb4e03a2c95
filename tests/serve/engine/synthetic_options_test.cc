#include "serve/engine/synthetic/synthetic_options.h"

#include <string>

#include "gtest/gtest.h"

namespace trellis::engine {
namespace {

std::string Error(const char* spec) { return std::string(ParseSyntheticOptions(spec).status().message()); }

TEST(SyntheticOptions, EmptyIsTheDefault) {
  const auto options = ParseSyntheticOptions("");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->batch_us, 0);
  EXPECT_EQ(options->fail_row_id, -1);
  EXPECT_EQ(options->limits.vocab_size, 250002);
  EXPECT_EQ(options->limits.model, "synthetic");
  for (const bool task : options->limits.tasks) EXPECT_TRUE(task);
}

TEST(SyntheticOptions, EveryKeyArrivesInItsField) {
  const auto options = ParseSyntheticOptions(
      "batch_us=1,row_us=2,token_ns=3,depth=4,max_row_tokens=5,max_batch_tokens=6,max_batch_rows=7,vocab=8,"
      "type_vocab=9,dimensions=10,labels=11,fail_row_id=12,fail_batch_id=13,nonfinite_id=14,fail_step=15,"
      "throw_step=16,throw_wait=17,die_after=18,die_during=19,model=m,tasks=sparse+embed");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->batch_us, 1);
  EXPECT_EQ(options->row_us, 2);
  EXPECT_EQ(options->token_ns, 3);
  EXPECT_EQ(options->limits.max_in_flight, 4);
  EXPECT_EQ(options->limits.max_row_tokens, 5);
  EXPECT_EQ(options->limits.max_batch_tokens, 6);
  EXPECT_EQ(options->limits.max_batch_rows, 7);
  EXPECT_EQ(options->limits.vocab_size, 8);
  EXPECT_EQ(options->limits.type_vocab_size, 9);
  EXPECT_EQ(options->limits.dimensions, 10);
  EXPECT_EQ(options->limits.labels, 11);
  EXPECT_EQ(options->fail_row_id, 12);
  EXPECT_EQ(options->fail_batch_id, 13);
  EXPECT_EQ(options->nonfinite_id, 14);
  EXPECT_EQ(options->fail_step, 15);
  EXPECT_EQ(options->throw_step, 16);
  EXPECT_EQ(options->throw_wait, 17);
  EXPECT_EQ(options->die_after, 18);
  EXPECT_EQ(options->die_during, 19);
  EXPECT_EQ(options->limits.model, "m");
  EXPECT_TRUE(options->limits.tasks[static_cast<int>(Task::kEmbed)]);
  EXPECT_FALSE(options->limits.tasks[static_cast<int>(Task::kEmbedAll)]);
  EXPECT_TRUE(options->limits.tasks[static_cast<int>(Task::kSparse)]);
  EXPECT_FALSE(options->limits.tasks[static_cast<int>(Task::kClassify)]);
}

TEST(SyntheticOptions, ErrorsNameKeyAndValue) {
  EXPECT_EQ(Error("token_ns=fast"),
            "synthetic: token_ns: \"fast\", expected a whole number from 0 to 3600000000");
  EXPECT_EQ(Error("depth=0"), "synthetic: depth: \"0\", expected a whole number from 1 to 1024");
  EXPECT_EQ(Error("batch_us=5ms"),
            "synthetic: batch_us: \"5ms\", expected a whole number from 0 to 3600000000");
  EXPECT_EQ(Error("batch_us="), "synthetic: batch_us: \"\", expected a whole number from 0 to 3600000000");
  EXPECT_EQ(Error("depth=1,depth=2"), "synthetic: depth: \"2\", expected each key once");
  EXPECT_NE(Error("tasks=embed+dance").find("tasks: \"embed+dance\", expected embed, embed_all"),
            std::string::npos);
  EXPECT_NE(Error("speed=3").find("synthetic: key: \"speed\", expected one of batch_us, row_us"), std::string::npos);
  EXPECT_NE(Error("depth").find("synthetic: setting: \"depth\", expected key=value, as in "), std::string::npos);
  EXPECT_EQ(Error("max_row_tokens=100,max_batch_tokens=99"),
            "synthetic: max_batch_tokens: \"99\", expected at least max_row_tokens, 100");
}

}  // namespace
}  // namespace trellis::engine
