#include "serve/engine/cuda/bucket.h"

#include <gtest/gtest.h>

namespace trellis::engine::cuda {
namespace {

TEST(Bucket, TokensAreMultiplesOf64UpTo4096AndOf256Above) {
  EXPECT_EQ(TokenBucket(1), 64);
  EXPECT_EQ(TokenBucket(64), 64);
  EXPECT_EQ(TokenBucket(65), 128);
  EXPECT_EQ(TokenBucket(4033), 4096);
  EXPECT_EQ(TokenBucket(4096), 4096);
  EXPECT_EQ(TokenBucket(4097), 4352);
  EXPECT_EQ(TokenBucket(16384), 16384);
}

TEST(Bucket, RowsArePowersOfFour) {
  EXPECT_EQ(RowBucket(1), 1);
  EXPECT_EQ(RowBucket(2), 4);
  EXPECT_EQ(RowBucket(4), 4);
  EXPECT_EQ(RowBucket(5), 16);
  EXPECT_EQ(RowBucket(17), 64);
  EXPECT_EQ(RowBucket(65), 256);
  EXPECT_EQ(RowBucket(257), 1024);
}

TEST(Bucket, HoldsWhatItIsFor) {
  for (int32_t tokens = 1; tokens < 20000; ++tokens) {
    const int32_t bucket = TokenBucket(tokens);
    ASSERT_GE(bucket, tokens);
    ASSERT_LT(bucket - tokens, tokens <= 4096 ? 64 : 256);
    ASSERT_EQ(TokenBucket(bucket), bucket) << tokens;  // a bucket's own size falls into it
  }
}

}  // namespace
}  // namespace trellis::engine::cuda
