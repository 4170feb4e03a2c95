#include "serve/server/row_queue.h"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/server/requests.h"

namespace trellis::server {
namespace {

std::shared_ptr<const Request> Shared(Request request) {
  return std::make_shared<const Request>(std::move(request));
}

TEST(RowQueue, CutsARequestAcrossBatches) {
  RowQueue queue(100, 100);
  queue.Append(7, Shared(RequestOfLengths({1, 2, 3})), Clock::time_point());
  EXPECT_EQ(queue.rows(), 3u);
  EXPECT_EQ(queue.tokens(), 6);
  std::vector<RowRef> rows;
  std::vector<std::shared_ptr<const Request>> holds;
  queue.Take(Priority::kInteractive, 2, rows, holds);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].row, 0u);
  EXPECT_EQ(rows[1].row, 1u);
  EXPECT_EQ(rows[1].tokens(), 2);
  EXPECT_EQ(queue.tokens(), 3);
  queue.Remove(7);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.tokens(), 0);
  EXPECT_EQ(rows[1].request->ids.size(), 6u) << "the holds keep what was taken";
}

TEST(RowQueue, IsBoundedByTokens) {
  RowQueue queue(10, 8);
  EXPECT_TRUE(queue.Fits(Priority::kInteractive, 10));
  EXPECT_FALSE(queue.Fits(Priority::kInteractive, 11));
  EXPECT_TRUE(queue.Fits(Priority::kBulk, 8));
  EXPECT_FALSE(queue.Fits(Priority::kBulk, 9));
  queue.Append(1, Shared(RequestOfLengths({4})), Clock::time_point());
  EXPECT_TRUE(queue.Fits(Priority::kInteractive, 6));
  EXPECT_FALSE(queue.Fits(Priority::kInteractive, 7));
  EXPECT_TRUE(queue.Fits(Priority::kBulk, 4));
  EXPECT_FALSE(queue.Fits(Priority::kBulk, 5)) << "interactive rows take their share of it";
}

// Against the plainest queue there is: a list of rows for each class.
TEST(RowQueue, AgreesWithAListOfRows) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    RowQueue queue(200, 150);
    std::deque<std::tuple<Ticket, size_t, int32_t>> model[kPriorities];
    Ticket next = 1;
    for (int step = 0; step < 200; ++step) {
      const auto priority = static_cast<Priority>(random() % 2);
      auto& rows = model[static_cast<size_t>(priority)];
      int64_t model_tokens = 0;
      for (const auto& list : model) {
        for (const auto& row : list) model_tokens += std::get<2>(row);
      }
      ASSERT_EQ(queue.tokens(), model_tokens);
      ASSERT_EQ(queue.rows(), model[0].size() + model[1].size());
      ASSERT_EQ(queue.rows(Priority::kBulk), model[1].size());
      switch (random() % 3) {
        case 0: {
          std::vector<int32_t> lengths(1 + random() % 4);
          for (auto& length : lengths) length = 1 + static_cast<int32_t>(random() % 9);
          const Request request = RequestOfLengths(lengths, priority);
          const auto tokens = static_cast<int64_t>(request.ids.size());
          ASSERT_EQ(queue.Fits(priority, tokens),
                    model_tokens + tokens <= (priority == Priority::kBulk ? 150 : 200));
          if (!queue.Fits(priority, tokens)) break;
          for (size_t r = 0; r < lengths.size(); ++r) rows.emplace_back(next, r, lengths[r]);
          queue.Append(next++, Shared(request), Clock::time_point());
          break;
        }
        case 1: {
          const Ticket ticket = random() % next;
          queue.Remove(ticket);
          for (auto& list : model)
            std::erase_if(list, [&](const auto& row) { return std::get<0>(row) == ticket; });
          break;
        }
        default: {
          const int64_t max_tokens = 5 + static_cast<int64_t>(random() % 30);
          const size_t max_rows = 1 + random() % 6;
          std::vector<QueuedRow> view;
          queue.Front(priority, max_tokens, max_rows, view);
          int64_t seen = 0;
          for (size_t i = 0; i < view.size(); ++i) {
            ASSERT_EQ(view[i].tokens, std::get<2>(rows[i]));
            ASSERT_LE(seen, max_tokens) << "the view goes on behind what a batch can take";
            seen += view[i].tokens;
          }
          ASSERT_TRUE(view.size() == rows.size() || view.size() == max_rows || seen > max_tokens)
              << "the view ends early";
          const size_t count = random() % (view.size() + 1);
          std::vector<RowRef> taken;
          std::vector<std::shared_ptr<const Request>> holds;
          queue.Take(priority, count, taken, holds);
          ASSERT_EQ(taken.size(), count);
          std::set<const Request*> held;
          for (const auto& hold : holds) held.insert(hold.get());
          for (const RowRef& row : taken) {
            ASSERT_EQ(std::make_tuple(row.ticket, row.row, row.tokens()), rows.front());
            ASSERT_TRUE(held.contains(row.request));
            rows.pop_front();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trellis::server
