// Streams of tei.v1: order, the first failure, places, clients that go, the end.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/grpc_tei_fixture.h"
#include "tests/serve/gateway/reference_texts.h"

namespace trellis::gateway {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using tei::v1::Embed;

std::vector<std::string> Texts(size_t count) {
  std::vector<std::string> texts;  // short ones overtake long ones, if they may
  for (size_t i = 0; i < count; ++i)
    texts.push_back(Repeated("water ", 1 + static_cast<int>(i * 7 % 50)) + "model");
  return texts;
}

template <typename Request>
std::vector<Request> RequestsOf(const std::vector<std::string>& texts) {
  std::vector<Request> requests;
  for (const std::string& text : texts) requests.push_back(Of<Request>(text));
  return requests;
}

// Until `holds`, or a minute.
bool Eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 12'000 && !holds(); ++i) std::this_thread::sleep_for(milliseconds(5));
  return holds();
}

// Takes all workers of a gateway, so that what has a place gets no further.
class Held {
 public:
  explicit Held(WorkerPool& pool) {
    for (size_t i = 0; i < pool.threads(); ++i)
      pool.Post([this, free = free_](RowEncoder&) {
        ++waiting_;
        free.wait();
      });
    EXPECT_TRUE(Eventually([&] { return waiting_ == pool.threads(); }));
  }
  ~Held() { LetGo(); }
  void LetGo() {
    if (!std::exchange(let_go_, true)) go_.set_value();
  }

 private:
  std::promise<void> go_;
  std::shared_future<void> free_{go_.get_future()};
  std::atomic<size_t> waiting_{0};
  bool let_go_ = false;
};

size_t PlacesTaken(Gateway& gateway) {
  size_t rest = 0;
  while (gateway.places().Take() == RequestSlots::Taken::kYes) ++rest;
  for (size_t i = 0; i < rest; ++i) gateway.places().Release();
  return 512 - rest;
}

TEST(GrpcStream, AnswersComeInTheOrderOfTheMessages) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  const std::vector<std::string> texts = Texts(200);
  grpc::ClientContext call;
  const auto told = Converse<tei::v1::EmbedResponse>(tiny.embed->EmbedStream(&call),
                                                     RequestsOf<tei::v1::EmbedRequest>(texts));
  ASSERT_TRUE(told.status.ok()) << told.status.error_message();
  ASSERT_EQ(told.answer.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    ExpectNear(FloatsOf(told.answer[i].embeddings()),
               Json(tiny.http().Post("/embed", "{\"inputs\":" + Quote(texts[i]) + "}").body).Floats("/0"),
               texts[i]);
    EXPECT_GT(told.answer[i].metadata().compute_tokens(), 0u);
  }
}

TEST(GrpcStream, EveryStreamIsItsUnaryCallManyTimes) {
  TinyGrpc m3("tiny-m3"), classifier("tiny-bert-classifier");
  m3.Open(), classifier.Open();
  const std::vector<std::string> texts = {"the small model", "water", "finds"};
  {
    grpc::ClientContext call;
    const auto told = Converse<tei::v1::EmbedAllResponse>(m3.embed->EmbedAllStream(&call),
                                                          RequestsOf<tei::v1::EmbedAllRequest>(texts));
    ASSERT_EQ(told.answer.size(), 3u) << told.status.error_message();
    for (size_t i = 0; i < 3; ++i) {
      const auto one = Ask(*m3.embed, &Embed::Stub::EmbedAll, Of<tei::v1::EmbedAllRequest>(texts[i])).answer;
      ASSERT_EQ(told.answer[i].token_embeddings_size(), one.token_embeddings_size());
      ExpectNear(FloatsOf(told.answer[i].token_embeddings(0).embeddings()),
                 FloatsOf(one.token_embeddings(0).embeddings()), texts[i]);
    }
  }
  {
    grpc::ClientContext call;
    const auto told = Converse<tei::v1::EmbedSparseResponse>(m3.embed->EmbedSparseStream(&call),
                                                             RequestsOf<tei::v1::EmbedSparseRequest>(texts));
    ASSERT_EQ(told.answer.size(), 3u) << told.status.error_message();
    for (size_t i = 0; i < 3; ++i) {
      const auto one =
          Ask(*m3.embed, &Embed::Stub::EmbedSparse, Of<tei::v1::EmbedSparseRequest>(texts[i])).answer;
      ASSERT_EQ(told.answer[i].sparse_embeddings_size(), one.sparse_embeddings_size());
      for (int w = 0; w < one.sparse_embeddings_size(); ++w)
        EXPECT_EQ(told.answer[i].sparse_embeddings(w).index(), one.sparse_embeddings(w).index());
    }
  }
  {
    grpc::ClientContext call;
    const auto told = Converse<tei::v1::PredictResponse>(classifier.predict->PredictStream(&call),
                                                         RequestsOf<tei::v1::PredictRequest>(texts));
    ASSERT_EQ(told.answer.size(), 3u) << told.status.error_message();
    for (size_t i = 0; i < 3; ++i) {
      const auto one =
          Ask(*classifier.predict, &tei::v1::Predict::Stub::Predict, Of<tei::v1::PredictRequest>(texts[i]))
              .answer;
      EXPECT_EQ(told.answer[i].predictions(0).label(), one.predictions(0).label());
      EXPECT_NEAR(told.answer[i].predictions(0).score(), one.predictions(0).score(), 1e-5f);
    }
  }
  {
    std::vector<tei::v1::PredictPairRequest> pairs(2);
    std::vector<std::vector<float>> logits;
    for (const ReferencePair& pair : ReferencePairs("tiny-bert-classifier")) {
      if (logits.size() == 2) break;
      tei::v1::PredictPairRequest& request = pairs[logits.size()];
      request.add_inputs(pair.query);
      request.add_inputs(pair.document);
      request.set_raw_scores(true);
      request.set_truncate(true);
      logits.push_back(pair.logits);
    }
    grpc::ClientContext call;
    const auto told = Converse<tei::v1::PredictResponse>(classifier.predict->PredictPairStream(&call), pairs);
    ASSERT_EQ(told.answer.size(), 2u) << told.status.error_message();
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(told.answer[i].predictions(0).score(),
                  *std::max_element(logits[i].begin(), logits[i].end()), 1e-5f);
    }
  }
  {
    grpc::ClientContext call;
    const auto told = Converse<tei::v1::EncodeResponse>(m3.tokenize->TokenizeStream(&call),
                                                        RequestsOf<tei::v1::EncodeRequest>(texts));
    ASSERT_EQ(told.answer.size(), 3u) << told.status.error_message();
    std::vector<tei::v1::DecodeRequest> ids(3);
    for (size_t i = 0; i < 3; ++i) {
      for (const tei::v1::SimpleToken& token : told.answer[i].tokens()) ids[i].add_ids(token.id());
    }
    grpc::ClientContext back;
    const auto decoded = Converse<tei::v1::DecodeResponse>(m3.tokenize->DecodeStream(&back), ids);
    ASSERT_EQ(decoded.answer.size(), 3u) << decoded.status.error_message();
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(decoded.answer[i].text(), texts[i]);
  }
}

TEST(GrpcStream, WithoutMessagesIsWithoutAnswers) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  grpc::ClientContext call;
  const auto told =
      Converse<tei::v1::EmbedResponse>(tiny.embed->EmbedStream(&call), std::vector<tei::v1::EmbedRequest>());
  EXPECT_TRUE(told.status.ok()) << told.status.error_message();
  EXPECT_TRUE(told.answer.empty());
}

TEST(GrpcStream, TheFirstFailureEndsItAfterTheAnswersBefore) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  auto requests = RequestsOf<tei::v1::EmbedRequest>(Texts(20));
  requests[5].set_inputs("");
  requests[7].set_prompt_name("none");
  grpc::ClientContext call;
  const auto told = Converse<tei::v1::EmbedResponse>(tiny.embed->EmbedStream(&call), requests);
  ExpectStatus(told.status, StatusCode::INVALID_ARGUMENT, "`inputs`: empty");
  EXPECT_EQ(told.answer.size(), 5u);
  TinyGrpc reranker("tiny-reranker");
  reranker.Open();
  grpc::ClientContext other;
  ExpectStatus(Converse<tei::v1::EmbedResponse>(reranker.embed->EmbedStream(&other), requests).status,
               StatusCode::FAILED_PRECONDITION, "embeds texts");
  EXPECT_TRUE(Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status.ok());
}

// Of so many messages at once, `expected` have places while nothing is computed; in the end all are answered.
void ExpectUnderWay(TinyGrpc& tiny, size_t messages, size_t expected) {
  Held held(tiny.http().pool());
  grpc::ClientContext call;
  auto stream = tiny.embed->EmbedStream(&call);
  for (size_t i = 0; i < messages; ++i) ASSERT_TRUE(stream->Write(Of("water")));
  stream->WritesDone();
  EXPECT_TRUE(Eventually([&] { return PlacesTaken(tiny.gateway()) == expected; }));
  std::this_thread::sleep_for(milliseconds(50));  // time for more to come, if more did
  EXPECT_EQ(PlacesTaken(tiny.gateway()), expected);
  held.LetGo();
  size_t answers = 0;
  for (tei::v1::EmbedResponse answer; stream->Read(&answer);) ++answers;
  EXPECT_EQ(answers, messages);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(GrpcStream, MessagesUnderWayAreBounded) {
  TinyGrpc tiny("tiny-bert", {}, {.max_parallel_stream_requests = 3});
  tiny.Open();
  ExpectUnderWay(tiny, 10, 3);
}

TEST(GrpcStream, FewMessagesAreUnderWayBeforeAnAnswerSaysHowLongAnswersAre) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  ExpectUnderWay(tiny, 100, 32);
}

// Its messages are more than the replica's queue holds at a time; nothing is lost for that.
TEST(GrpcStream, AQueueThatIsFullIsWaitedFor) {
  TinyGrpc tiny("tiny-bert", [](TestOptions& options) {
    options.server.max_batch_tokens = 64;
    options.server.max_queued_tokens = 64;
  });
  tiny.Open();
  std::string text;
  for (int i = 0; i < 60; ++i) text += "a ";
  tei::v1::EmbedRequest request = Of(text);
  request.set_truncate(true);
  grpc::ClientContext call;
  const auto told = Converse<tei::v1::EmbedResponse>(tiny.embed->EmbedStream(&call),
                                                     std::vector<tei::v1::EmbedRequest>(200, request));
  EXPECT_TRUE(told.status.ok()) << told.status.error_message();
  EXPECT_EQ(told.answer.size(), 200u);
}

TEST(GrpcPlaces, UnaryCallsAreRefusedAndStreamsAndRerankWait) {
  TinyGrpc tiny("tiny-reranker", [](TestOptions& options) { options.gateway.max_concurrent_requests = 1; });
  tiny.Open();
  RequestSlots& places = tiny.gateway().places();
  ASSERT_EQ(places.Take(), RequestSlots::Taken::kYes);
  ExpectStatus(Ask(*tiny.predict, &tei::v1::Predict::Stub::Predict, Of<tei::v1::PredictRequest>("a")).status,
               StatusCode::RESOURCE_EXHAUSTED, "places");
  tei::v1::RerankRequest rank;
  rank.set_query("a");
  rank.add_texts("b");
  auto ranked = std::async(std::launch::async,
                           [&] { return Ask(*tiny.rerank, &tei::v1::Rerank::Stub::Rerank, rank).status; });
  auto streamed = std::async(std::launch::async, [&] {
    grpc::ClientContext call;
    return Converse<tei::v1::PredictResponse>(tiny.predict->PredictStream(&call),
                                              RequestsOf<tei::v1::PredictRequest>({"a", "b"}));
  });
  EXPECT_EQ(ranked.wait_for(milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(streamed.wait_for(milliseconds(0)), std::future_status::timeout);
  places.Release();
  EXPECT_TRUE(ranked.get().ok());
  const auto told = streamed.get();
  EXPECT_TRUE(told.status.ok()) << told.status.error_message();
  EXPECT_EQ(told.answer.size(), 2u);
}

TEST(GrpcPlaces, WhoIsGoneWaitsNoLonger) {
  TinyGrpc tiny("tiny-reranker", [](TestOptions& options) { options.gateway.max_concurrent_requests = 1; });
  tiny.Open();
  RequestSlots& places = tiny.gateway().places();
  ASSERT_EQ(places.Take(), RequestSlots::Taken::kYes);
  tei::v1::RerankRequest rank;
  rank.set_query("a");
  rank.add_texts("b");
  grpc::ClientContext late;
  late.set_deadline(std::chrono::system_clock::now() + milliseconds(100));
  tei::v1::RerankResponse answer;
  EXPECT_EQ(tiny.rerank->Rerank(&late, rank, &answer).error_code(), StatusCode::DEADLINE_EXCEEDED);
  grpc::ClientContext call;
  auto stream = tiny.predict->PredictStream(&call);
  ASSERT_TRUE(stream->Write(Of<tei::v1::PredictRequest>("a")));
  std::this_thread::sleep_for(milliseconds(50));
  call.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(tiny.listener().Stop(std::chrono::minutes(1)))
      << "the calls have ended, though nobody had a place";
  places.Release();
  EXPECT_EQ(places.Take(), RequestSlots::Taken::kYes) << "nobody was given the place";
  places.Release();
}

TEST(GrpcStream, WhatIsCancelledEndsAtOnceAndHarmsNobody) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext call;
    auto stream = tiny.embed->EmbedStream(&call);
    for (int m = 0; m < i; ++m) stream->Write(Of("water"));
    if (i % 3 == 0) stream->WritesDone();
    tei::v1::EmbedResponse answer;
    if (i % 2 == 1) stream->Read(&answer);
    call.TryCancel();
    const StatusCode code = stream->Finish().error_code();
    EXPECT_TRUE(code == StatusCode::CANCELLED || code == StatusCode::OK) << code;
  }
  EXPECT_TRUE(Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status.ok());
  EXPECT_TRUE(tiny.gateway().Drain(std::chrono::minutes(1)));
  EXPECT_TRUE(tiny.listener().Stop(std::chrono::minutes(1))) << "no call is left";
}

tei::v1::RerankStreamRequest RankText(const std::string& query, const std::string& text) {
  tei::v1::RerankStreamRequest request;
  request.set_query(query);
  request.set_text(text);
  return request;
}

Told<tei::v1::RerankResponse> RankAll(TinyGrpc& tiny,
                                      const std::vector<tei::v1::RerankStreamRequest>& requests) {
  grpc::ClientContext call;
  Told<tei::v1::RerankResponse> told;
  auto stream = tiny.rerank->RerankStream(&call, &told.answer);
  for (const auto& request : requests) {
    if (!stream->Write(request)) break;
  }
  stream->WritesDone();
  told.status = stream->Finish();
  return told;
}

TEST(GrpcRerankStream, IsRerankTextByText) {
  TinyGrpc tiny("tiny-reranker");
  tiny.Open();
  const std::vector<ReferencePair> pairs = ReferencePairs("tiny-reranker");
  std::vector<tei::v1::RerankStreamRequest> requests;
  std::vector<float> logits;
  size_t tokens = 0;
  for (const ReferencePair& pair : pairs) {  // each message may have a query of its own
    requests.push_back(RankText(pair.query, pair.document));
    requests.back().set_truncate(true);
    logits.push_back(pair.logits[0]);
    tokens += pair.ids.size();
  }
  ASSERT_GE(requests.size(), 4u);
  requests[0].set_raw_scores(true);
  requests[0].set_return_text(true);
  requests[1].set_return_text(false);  // only the first message counts
  const auto raw = RankAll(tiny, requests);
  ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
  ASSERT_EQ(static_cast<size_t>(raw.answer.ranks_size()), pairs.size());
  EXPECT_EQ(raw.answer.metadata().compute_tokens(), tokens);
  std::vector<bool> seen(pairs.size());
  for (int r = 0; r < raw.answer.ranks_size(); ++r) {
    const tei::v1::Rank& rank = raw.answer.ranks(r);
    ASSERT_LT(rank.index(), pairs.size());
    EXPECT_FALSE(seen[rank.index()]);
    seen[rank.index()] = true;
    EXPECT_NEAR(rank.score(), logits[rank.index()], 1e-5f);
    EXPECT_EQ(rank.text(), pairs[rank.index()].document);
    if (r > 0) {
      EXPECT_LE(rank.score(), raw.answer.ranks(r - 1).score());
    }
  }
  requests[0].clear_raw_scores();
  requests[0].clear_return_text();
  const auto shown = RankAll(tiny, requests).answer;
  EXPECT_EQ(shown.ranks(0).index(), raw.answer.ranks(0).index());
  EXPECT_NEAR(shown.ranks(0).score(), 1 / (1 + std::exp(-double{raw.answer.ranks(0).score()})), 1e-5);
  EXPECT_FALSE(shown.ranks(0).has_text());
}

TEST(GrpcRerankStream, WrongOnesAreRefused) {
  TinyGrpc tiny("tiny-reranker", [](TestOptions& options) { options.gateway.policy.max_client_batch = 3; },
                {.payload_limit = 4096});
  tiny.Open();
  ExpectStatus(RankAll(tiny, {}).status, StatusCode::INVALID_ARGUMENT, "no message");
  ExpectStatus(RankAll(tiny, std::vector(4, RankText("a", "b"))).status, StatusCode::INVALID_ARGUMENT,
               "more than 3 texts");
  auto requests = std::vector(3, RankText("a", Repeated("water ", 400)));
  for (auto& request : requests) request.set_truncate(true);
  ExpectStatus(RankAll(tiny, requests).status, StatusCode::RESOURCE_EXHAUSTED, "4096 bytes");
  requests.pop_back();
  requests.pop_back();
  EXPECT_TRUE(RankAll(tiny, requests).status.ok());
  requests[0].set_truncate(false);
  ExpectStatus(RankAll(tiny, requests).status, StatusCode::INVALID_ARGUMENT, "`text[0]`");
  TinyGrpc embedder("tiny-bert");
  embedder.Open();
  ExpectStatus(RankAll(embedder, requests).status, StatusCode::FAILED_PRECONDITION, "scores pairs");
}

TEST(GrpcEnd, WhatWasAcceptedIsAnsweredAndTheRestIsUnavailable) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  grpc::ClientContext idle_call, call;
  auto idle = tiny.embed->EmbedStream(&idle_call);
  ASSERT_TRUE(idle->Write(Of("a")));
  tei::v1::EmbedResponse answer;
  ASSERT_TRUE(idle->Read(&answer));
  Held held(tiny.http().pool());
  auto stream = tiny.embed->EmbedStream(&call);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(stream->Write(Of("water")));
  auto unary =
      std::async(std::launch::async, [&] { return Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status; });
  EXPECT_TRUE(Eventually([&] { return PlacesTaken(tiny.gateway()) == 6; }));
  tiny.gateway().Close();
  tiny.listener().AnnounceEnd();
  EXPECT_FALSE(idle->Read(&answer));
  ExpectStatus(idle->Finish(), StatusCode::UNAVAILABLE, "shutting down");
  ExpectStatus(Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status, StatusCode::UNAVAILABLE,
               "shutting down");
  grpc::ClientContext late;
  auto refused = tiny.embed->EmbedStream(&late);
  ExpectStatus(refused->Finish(), StatusCode::UNAVAILABLE, "shutting down");
  held.LetGo();
  size_t answers = 0;
  while (stream->Read(&answer)) ++answers;
  EXPECT_EQ(answers, 5u);
  ExpectStatus(stream->Finish(), StatusCode::UNAVAILABLE, "shutting down");
  EXPECT_TRUE(unary.get().ok());
  EXPECT_TRUE(tiny.gateway().Drain(std::chrono::minutes(1)));
  EXPECT_TRUE(tiny.listener().Stop(std::chrono::minutes(1)));
  EXPECT_EQ(Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status.error_code(), StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace trellis::gateway
