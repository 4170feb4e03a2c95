// The whole server with real threads over the synthetic engine. Nothing here depends on how fast the machine
// is: where something must be in the engine, a gate holds it there.
#include "serve/server/server.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/synthetic/synthetic_engine.h"
#include "serve/engine/synthetic/synthetic_values.h"
#include "tests/serve/server/counting_observer.h"
#include "tests/serve/server/gated_engine.h"
#include "tests/serve/server/requests.h"

namespace trellis::server {
namespace {

using absl::StatusCode;
using engine::SyntheticOptions;
using std::chrono::milliseconds;
using std::chrono::seconds;

ServerOptions Given(int32_t max_batch_tokens) {
  ServerOptions options;
  options.max_batch_tokens = max_batch_tokens;
  return options;
}

std::unique_ptr<Server> Serve(const SyntheticOptions& synthetic, const ServerOptions& options,
                              Observer* observer) {
  auto server = Server::Create(engine::MakeSyntheticEngine(synthetic), options, observer);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

struct Call {
  absl::StatusOr<Ticket> ticket = absl::UnknownError("not sent");
  std::future<Reply> reply;
};
Call Send(Server& server, Request request) {
  auto promise = std::make_shared<std::promise<Reply>>();
  Call call;
  call.reply = promise->get_future();
  request.done = [promise](Reply reply) { promise->set_value(std::move(reply)); };
  call.ticket = server.Submit(std::move(request));
  return call;
}
// The status of a request that was accepted.
StatusCode CodeOf(Call& call) {
  EXPECT_TRUE(call.ticket.ok()) << call.ticket.status();
  return call.reply.get().status.code();
}

TEST(Server, AnswersBelongToTheirRows) {
  const SyntheticOptions synthetic;
  ServerOptions options = Given(512);
  options.max_queued_tokens = 1'000'000;
  const auto server = Serve(synthetic, options, nullptr);
  std::vector<std::pair<Call, std::vector<std::vector<int32_t>>>> calls;
  for (int32_t i = 0; i < 200; ++i) {
    std::vector<std::vector<int32_t>> rows;
    for (int32_t r = 0; r <= i % 5; ++r)
      rows.push_back(std::vector<int32_t>(static_cast<size_t>(1 + i), i * 10 + r));
    calls.emplace_back(Send(*server, MakeRequest(rows)), rows);
  }
  for (auto& [call, rows] : calls) {
    const Reply reply = call.reply.get();
    ASSERT_TRUE(reply.status.ok());
    ASSERT_EQ(reply.rows.size(), rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      ASSERT_EQ(reply.rows[r].values, engine::SyntheticValues(rows[r], {}, {}, synthetic.limits).values);
    }
  }
}

TEST(Server, RefusesWhatCannotBeServed) {
  SyntheticOptions synthetic;
  synthetic.limits.tasks[static_cast<int>(engine::Task::kClassify)] = false;
  CountingObserver observer;
  const auto server = Serve(synthetic, Given(512), &observer);
  Call call = Send(*server, RequestOfLengths({513}));
  EXPECT_EQ(call.ticket.status(), absl::InvalidArgumentError("row 0: tokens: 513, expected 1 to 512"));
  call = Send(*server, MakeRequest({{1}}, {engine::Task::kClassify}));
  EXPECT_EQ(call.ticket.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(observer.counts().refused.at(Observer::Refusal::kInvalid), 1u);
  EXPECT_EQ(observer.counts().refused.at(Observer::Refusal::kUnsupportedTask), 1u);
  EXPECT_EQ(observer.counts().accepted_requests, 0u);
}

TEST(Server, CreateNamesOptionsThatNoBatchCanMeet) {
  const auto error = [](SyntheticOptions synthetic, ServerOptions options) {
    return Server::Create(engine::MakeSyntheticEngine(synthetic), options, nullptr).status();
  };
  EXPECT_EQ(error({}, Given(511)).message(),
            "max_batch_tokens: 511, expected 0 (the default) or 512 to 16384");
  EXPECT_EQ(Server::Create(nullptr, {}, nullptr).status().code(), StatusCode::kInvalidArgument);
  SyntheticOptions dead;
  dead.die_during = 1;
  EXPECT_EQ(error(dead, Given(512)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(error(dead, {}).code(), StatusCode::kUnavailable);
  SyntheticOptions throws;
  throws.throw_step = 1;
  EXPECT_EQ(error(throws, Given(512)), absl::InternalError("warm-up with 16 tokens: exception: step 1"));
}

TEST(Server, FindsItsBudgetAtWarmUp) {
  SyntheticOptions synthetic;
  synthetic.token_ns = 20'000;  // 500 tokens in 10 ms, but the longest row has 512
  ServerOptions options;
  options.target_batch_time = milliseconds(10);
  EXPECT_EQ(Serve(synthetic, options, nullptr)->max_batch_tokens(), 512);
  synthetic.token_ns = 0;
  options.target_batch_time = std::chrono::minutes(10);  // however slow the machine
  EXPECT_EQ(Serve(synthetic, options, nullptr)->max_batch_tokens(), 16384);
  EXPECT_EQ(Serve(synthetic, Given(600), nullptr)->max_batch_tokens(), 600);
}

TEST(Server, ExceptionsOfTheEngineFailNoMoreThanTheirBatch) {
  SyntheticOptions synthetic;
  synthetic.throw_step = 2;  // the first is the warm-up's
  synthetic.throw_wait = 5;  // 3 and 4 retry the rows of 2
  synthetic.fail_step = 9;
  CountingObserver observer;
  const auto server = Serve(synthetic, Given(512), &observer);
  for (int i = 0; i < 10; ++i) {
    Call call = Send(*server, RequestOfLengths({3, 4}));
    const Reply reply = call.reply.get();
    ASSERT_TRUE(reply.status.ok());
    for (const RowReply& row : reply.rows) EXPECT_TRUE(row.status.ok()) << row.status;
  }
  EXPECT_TRUE(server->Drain(seconds(60)));
  EXPECT_EQ(observer.counts().batches.at(StatusCode::kInternal), 3u);
  EXPECT_EQ(observer.counts().rows.at(StatusCode::kOk), 20u);
  EXPECT_GT(observer.counts().retried_rows, 0u);
}

TEST(Server, ARowThatFailsTwiceSaysHow) {
  SyntheticOptions synthetic;
  synthetic.throw_step = 2;
  synthetic.throw_wait = 3;  // its retry
  const auto server = Serve(synthetic, Given(512), nullptr);
  Call call = Send(*server, RequestOfLengths({3}));
  EXPECT_EQ(call.reply.get().rows.at(0).status,
            absl::InternalError("row 0: failed in a batch and alone: Wait: exception: Wait of step 3"));
}

TEST(Server, ABadRowFailsAloneAndABadBatchRowByRow) {
  SyntheticOptions synthetic;
  synthetic.fail_row_id = 100;
  synthetic.fail_batch_id = 101;
  synthetic.nonfinite_id = 102;
  CountingObserver observer;
  const auto server = Serve(synthetic, Given(512), &observer);
  Call call = Send(*server, MakeRequest({{1}, {100}, {102}, {101}, {2}}));
  const Reply reply = call.reply.get();
  ASSERT_TRUE(reply.status.ok());
  EXPECT_TRUE(reply.rows[0].status.ok());
  EXPECT_EQ(reply.rows[1].status.code(), StatusCode::kInternal);
  EXPECT_EQ(reply.rows[2].status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(reply.rows[3].status.code(), StatusCode::kInternal);
  EXPECT_TRUE(reply.rows[4].status.ok());
  EXPECT_EQ(observer.counts().retried_rows, 5u);
  EXPECT_EQ(server->health(), Health::kReady);
}

// --- with a gate in the engine ---

struct Gated {
  explicit Gated(int32_t depth = 1, ServerOptions options = Given(512), SyntheticOptions synthetic = {}) {
    synthetic.limits.max_in_flight = depth;
    auto gated = std::make_unique<GatedEngine>(engine::MakeSyntheticEngine(synthetic));
    engine = gated.get();
    auto created = Server::Create(std::move(gated), options, &observer);
    EXPECT_TRUE(created.ok()) << created.status();
    server = *std::move(created);
    engine->Close();
  }
  // A request that is in the engine when this returns.
  Call Occupy(int32_t tokens = 1) {
    const size_t before = engine->steps();
    Call call = Send(*server, RequestOfLengths({tokens}));
    engine->AwaitSteps(before + 1);
    return call;
  }
  ~Gated() {
    if (engine != nullptr) engine->Open();
  }

  CountingObserver observer;
  GatedEngine* engine = nullptr;
  std::unique_ptr<Server> server;
};

// The first step is the warm-up's, the third the last that is taken or done.
TEST(ServerGated, ADeadEngineAnswersEverybody) {
  for (const bool in_wait : {false, true}) {
    SyntheticOptions synthetic;
    (in_wait ? synthetic.die_during : synthetic.die_after) = 3;
    Gated gated(1, Given(512), synthetic);
    std::vector<Call> calls;
    calls.push_back(gated.Occupy(512));
    for (int i = 0; i < 19; ++i) calls.push_back(Send(*gated.server, RequestOfLengths({512})));
    gated.engine->Open();
    size_t dead = 0;
    for (Call& call : calls) {
      const StatusCode code = CodeOf(call);
      EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kUnavailable);
      if (code == StatusCode::kUnavailable) ++dead;
    }
    EXPECT_EQ(dead, in_wait ? 19u : 18u);
    EXPECT_EQ(gated.server->health(), Health::kDead);
    EXPECT_EQ(Send(*gated.server, RequestOfLengths({1})).ticket.status().code(), StatusCode::kUnavailable);
    EXPECT_TRUE(gated.server->Drain(seconds(60)));
    EXPECT_EQ(gated.server->health(), Health::kDead);
    EXPECT_EQ(gated.observer.counts().queued_rows, 0u);
  }
}

TEST(ServerGated, WhatComesMeanwhileMakesTheNextBatch) {
  Gated gated;
  Call first = gated.Occupy();
  std::vector<Call> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(Send(*gated.server, RequestOfLengths({2})));
  gated.engine->Open();
  for (Call& call : calls) EXPECT_EQ(CodeOf(call), StatusCode::kOk);
  EXPECT_TRUE(gated.server->Drain(seconds(60)));
  EXPECT_EQ(gated.observer.counts().batches_started, 2u);
}

TEST(ServerGated, TheNextBatchIsHandedOverWhileOneRuns) {
  Gated gated(2);
  Call first = gated.Occupy();
  Call second = gated.Occupy();  // returns only if the engine got it
  EXPECT_EQ(first.reply.wait_for(seconds(0)), std::future_status::timeout);
  gated.engine->Open();
  EXPECT_EQ(CodeOf(first), StatusCode::kOk);
  EXPECT_EQ(CodeOf(second), StatusCode::kOk);
}

TEST(ServerGated, AnInteractiveQueryPassesTheBulkThatWaits) {
  for (const int32_t depth : {1, 2}) {
    Gated gated(depth);
    Call running = gated.Occupy(512);
    std::vector<Call> bulk;
    for (int i = 0; i < 50; ++i)
      bulk.push_back(Send(*gated.server, RequestOfLengths({512}, Priority::kBulk)));
    constexpr int32_t kMarker = 77;
    Call query = Send(*gated.server, RequestOfLengths({5}, Priority::kInteractive, kMarker));
    gated.engine->Open();
    EXPECT_EQ(CodeOf(query), StatusCode::kOk);
    // One was running; a bulk batch can only have slipped in if the engine had become idle, and it had not.
    EXPECT_EQ(gated.engine->StepWith(kMarker), gated.engine->StepWith(1) + 1);
    for (Call& call : bulk) EXPECT_EQ(CodeOf(call), StatusCode::kOk);
  }
}

TEST(ServerGated, DeadlinesAreAnsweredWhileTheEngineIsBusy) {
  Gated gated;
  Call running = gated.Occupy();
  Request request = RequestOfLengths({2}, Priority::kInteractive, 55);
  request.deadline = Clock::now() + milliseconds(20);
  Call late = Send(*gated.server, std::move(request));
  EXPECT_EQ(CodeOf(late), StatusCode::kDeadlineExceeded)
      << "and not only once the gate opens, which it has not";
  EXPECT_GE(Clock::now(), request.deadline);
  gated.engine->Open();
  EXPECT_TRUE(gated.server->Drain(seconds(60)));
  EXPECT_EQ(gated.engine->StepWith(55), 0u) << "the engine saw a row that was too late";
}

TEST(ServerGated, AnEarlierDeadlineWakesTheServerInTime) {
  Gated gated;
  Call running = gated.Occupy();
  Request far = RequestOfLengths({1});
  far.deadline = Clock::now() + std::chrono::hours(10);
  Call patient = Send(*gated.server, std::move(far));
  Request near = RequestOfLengths({1});
  near.deadline = Clock::now() + milliseconds(10);
  Call hasty = Send(*gated.server, std::move(near));
  EXPECT_EQ(CodeOf(hasty), StatusCode::kDeadlineExceeded);
  gated.engine->Open();
  EXPECT_EQ(CodeOf(patient), StatusCode::kOk);
}

TEST(ServerGated, CancelAnswersAtOnceAndTheEngineNeverSeesTheRow) {
  Gated gated;
  Call running = gated.Occupy();
  Call queued = Send(*gated.server, RequestOfLengths({2}, Priority::kInteractive, 55));
  gated.server->Cancel(*queued.ticket);
  EXPECT_EQ(CodeOf(queued), StatusCode::kCancelled);
  gated.server->Cancel(*running.ticket);
  EXPECT_EQ(CodeOf(running), StatusCode::kCancelled) << "also while it is in the engine";
  gated.server->Cancel(*running.ticket);
  gated.server->Cancel(12345);
  gated.engine->Open();
  EXPECT_TRUE(gated.server->Drain(seconds(60)));
  EXPECT_EQ(gated.engine->StepWith(55), 0u);
  EXPECT_EQ(gated.observer.counts().requests.at(StatusCode::kCancelled), 2u);
}

TEST(ServerGated, TheQueueIsBounded) {
  ServerOptions options = Given(512);
  options.max_queued_tokens = 1000;
  Gated gated(1, options);
  Call running = gated.Occupy();
  Call a = Send(*gated.server, RequestOfLengths({500})), b = Send(*gated.server, RequestOfLengths({500}));
  Call c = Send(*gated.server, RequestOfLengths({1}));
  EXPECT_EQ(c.ticket.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Send(*gated.server, RequestOfLengths({500, 501})).ticket.status().code(),
            StatusCode::kInvalidArgument)
      << "what can never fit is not told to come back";
  gated.engine->Open();
  EXPECT_EQ(CodeOf(a), StatusCode::kOk);
  EXPECT_EQ(CodeOf(b), StatusCode::kOk);
  Call d = Send(*gated.server, RequestOfLengths({1}));
  EXPECT_EQ(CodeOf(d), StatusCode::kOk) << "room again";
}

// `done` has returned, but whoever it told still has to pass the answer on.
TEST(ServerGated, AnswersThatAreHeldAreBounded) {
  ServerOptions options = Given(512);
  options.max_answer_bytes = 1 << 20;
  SyntheticOptions synthetic;
  synthetic.limits.dimensions = 1 << 16;  // 256 KiB an answer: three fit, with what is around them
  Gated gated(1, options, synthetic);
  gated.engine->Open();
  std::vector<Reply> kept;
  for (int i = 0; i < 3; ++i) {
    Call call = Send(*gated.server, RequestOfLengths({1}));
    ASSERT_TRUE(call.ticket.ok()) << call.ticket.status();
    kept.push_back(call.reply.get());
  }
  Call fourth = Send(*gated.server, RequestOfLengths({1}));
  EXPECT_EQ(fourth.ticket.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(gated.observer.counts().refused.at(Observer::Refusal::kUndelivered), 1u);
  EXPECT_EQ(gated.observer.counts().undelivered_requests, 3u);
  EXPECT_EQ(gated.observer.counts().undelivered_bytes, 3u * (64 + 10 + (1 << 18)));
  EXPECT_EQ(Send(*gated.server, RequestOfLengths({1, 1, 1, 1})).ticket.status().code(),
            StatusCode::kInvalidArgument)
      << "an answer that could never be had is not told to come back";
  EXPECT_TRUE(gated.server->Drain(seconds(60))) << "what is answered is no longer the server's to finish";
  gated.server.reset();
  gated.engine = nullptr;
  kept.clear();  // after the server
}

TEST(ServerGated, DeliveredAnswersMakeRoom) {
  ServerOptions options = Given(512);
  options.max_answer_bytes = 1 << 20;
  SyntheticOptions synthetic;
  synthetic.limits.dimensions = 1 << 16;
  Gated gated(1, options, synthetic);
  gated.engine->Open();
  for (int i = 0; i < 20; ++i) {
    Call call = Send(*gated.server, RequestOfLengths({1}));
    EXPECT_EQ(CodeOf(call), StatusCode::kOk);
  }
}

TEST(ServerGated, DrainFinishesWhatWasAccepted) {
  Gated gated;
  Call running = gated.Occupy();
  std::vector<Call> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(Send(*gated.server, RequestOfLengths({100})));
  std::thread opener([&] {
    while (gated.server->health() != Health::kDraining) std::this_thread::yield();
    EXPECT_EQ(Send(*gated.server, RequestOfLengths({1})).ticket.status().code(), StatusCode::kUnavailable);
    gated.engine->Open();
  });
  EXPECT_TRUE(gated.server->Drain(milliseconds::max()));
  opener.join();
  for (Call& call : calls) {
    ASSERT_EQ(call.reply.wait_for(seconds(0)), std::future_status::ready)
        << "Drain returned before the last answer";
    EXPECT_EQ(CodeOf(call), StatusCode::kOk);
  }
}

TEST(ServerGated, DrainEndsTheRestWhenItsTimeIsUp) {
  Gated gated;
  Call running = gated.Occupy();
  Call queued = Send(*gated.server, RequestOfLengths({100}));
  EXPECT_FALSE(gated.server->Drain(milliseconds(10)));
  for (Call* call : {&running, &queued}) {
    ASSERT_EQ(call->reply.wait_for(seconds(0)), std::future_status::ready);
    EXPECT_EQ(CodeOf(*call), StatusCode::kUnavailable);
  }
  EXPECT_TRUE(gated.server->Drain(milliseconds(0))) << "nothing is left to finish";
}

TEST(ServerGated, TheDestructorAnswersEverybody) {
  Gated gated;
  Call running = gated.Occupy();
  Call queued = Send(*gated.server, RequestOfLengths({100}));
  std::thread destroyer([&] { gated.server.reset(); });
  EXPECT_EQ(CodeOf(queued), StatusCode::kUnavailable) << "before the engine lets go of its batch";
  EXPECT_EQ(CodeOf(running), StatusCode::kUnavailable);
  gated.engine->Open();  // the engine lives until its results are gone
  destroyer.join();
  gated.engine = nullptr;
}

TEST(ServerGated, NoLockIsHeldInDoneOrInTheEngine) {
  // Each of them calls the server, which would wait for itself if it held its lock.
  Gated gated;
  std::promise<void> answered;
  gated.engine->in_step = [&] {
    EXPECT_EQ(gated.server->health(), Health::kReady);
    gated.server->Cancel(999);
  };
  gated.engine->in_wait = gated.engine->in_row = gated.engine->in_step;
  Request request = RequestOfLengths({3});
  request.done = [&](Reply reply) {
    EXPECT_TRUE(reply.status.ok());
    EXPECT_EQ(gated.server->health(), Health::kReady);
    Request again = RequestOfLengths({3});
    again.done = [&](Reply) { answered.set_value(); };
    EXPECT_TRUE(gated.server->Submit(std::move(again)).ok());
  };
  gated.engine->Open();
  ASSERT_TRUE(gated.server->Submit(std::move(request)).ok());
  answered.get_future().get();
  EXPECT_TRUE(gated.server->Drain(seconds(60)));
}

TEST(ServerGated, PackingDoesNotWaitForAnswers) {
  Gated gated(1);
  gated.engine->Open();
  std::promise<void> in_done, go_on;
  Request request = RequestOfLengths({3});
  request.done = [&](Reply) {
    in_done.set_value();
    go_on.get_future().wait();
  };
  ASSERT_TRUE(gated.server->Submit(std::move(request)).ok());
  in_done.get_future().wait();
  const size_t before = gated.engine->steps();
  for (size_t i = 0; i < 5; ++i) {  // the answerer is stuck, the engine is fed all the same
    ASSERT_TRUE(gated.server->Submit(RequestOfLengths({3})).ok());
    gated.engine->AwaitSteps(before + i + 1);
  }
  go_on.set_value();
  EXPECT_TRUE(gated.server->Drain(seconds(60)));
}

TEST(ServerGated, ADoneThatThrowsIsSurvived) {
  Gated gated;
  gated.engine->Open();
  Request request = RequestOfLengths({3});
  request.done = [](Reply) { throw std::runtime_error("from a test"); };
  ASSERT_TRUE(gated.server->Submit(std::move(request)).ok());
  Call next = Send(*gated.server, RequestOfLengths({3}));
  EXPECT_EQ(CodeOf(next), StatusCode::kOk);
  EXPECT_TRUE(gated.server->Drain(seconds(60)));
}

}  // namespace
}  // namespace trellis::server
