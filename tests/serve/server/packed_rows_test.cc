#include "serve/server/packed_rows.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/server/requests.h"

namespace trellis::server {
namespace {

template <typename T>
std::vector<T> Copy(std::span<const T> span) {
  return {span.begin(), span.end()};
}

TEST(PackedRows, LaysRowsOfSeveralRequestsEndToEnd) {
  const Request a = MakeRequest({{1, 2}, {3}, {4, 5, 6}}, {engine::Task::kSparse});
  Request b = MakeRequest({{7, 8}, {9}});
  b.type_ids = {1, 0, 1};
  const Request c = MakeRequest({{10, 11}});
  PackedRows packed;
  for (int again = 0; again < 2; ++again) {  // the second time over what is there
    packed.Pack(
        std::vector<RowRef>{{1, &a, 1, {}}, {1, &a, 2, {}}, {2, &b, 0, {}}, {2, &b, 1, {}}, {3, &c, 0, {}}});
    EXPECT_EQ(Copy(packed.view().ids), (std::vector<int32_t>{3, 4, 5, 6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(Copy(packed.view().type_ids), (std::vector<int32_t>{0, 0, 0, 0, 1, 0, 1, 0, 0}));
    EXPECT_EQ(Copy(packed.view().cu_seqlens), (std::vector<int32_t>{0, 1, 4, 6, 7, 9}));
    ASSERT_EQ(packed.view().rows.size(), 5u);
    EXPECT_EQ(packed.view().rows[1].task, engine::Task::kSparse);
    EXPECT_EQ(packed.view().rows[2].task, engine::Task::kEmbed);
  }
  packed.Pack(std::vector<RowRef>{{3, &c, 0, {}}});
  EXPECT_EQ(Copy(packed.view().ids), (std::vector<int32_t>{10, 11}));
  EXPECT_TRUE(packed.view().type_ids.empty()) << "nobody has types, so there is no column";
}

}  // namespace
}  // namespace trellis::server
