// XLM-R's real tokenizer (tools/fetch_model) around models that are made here, since the models that people
// reported about are gigabytes. RecordingReplica computes nothing of worth and keeps the ids that the gateway
// sent, which is where most of the reports went wrong; mirror_model.h shows what an engine made of them.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_REAL_MODEL_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_REAL_MODEL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/engine/synthetic/synthetic_options.h"
#include "serve/engine/synthetic/synthetic_values.h"
#include "serve/gateway/replica.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/model_files.h"

namespace trellis::gateway {

inline constexpr int32_t kRealVocabulary = 250002;

// As the goldens: a tokenizer that is not there is a failure, never a skip.
inline std::string RealTokenizer() {
  const char* const elsewhere = std::getenv("TRELLIS_MODEL");
  const std::string folder =
      elsewhere != nullptr ? elsewhere : TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
  const std::string file = folder + "/tokenizer.json";
  if (!std::filesystem::exists(file)) {
    ADD_FAILURE() << file << " is not there: tools/fetch_model --tokenizer-only puts it into models/; "
                  << "TRELLIS_MODEL names another place.";
    std::exit(1);
  }
  return file;
}

// config.json and the tokenizer; `positions` is max_position_embeddings.
class RealFolder {
 public:
  enum class Kind { kEmbedder, kReranker };

  RealFolder(Kind kind, int32_t positions, const std::string& model_type = "xlm-roberta")
      : positions_(positions) {
    const bool bert = model_type == "bert";
    const std::string architecture = absl::StrCat(
        bert ? "Bert" : "XLMRoberta", kind == Kind::kReranker ? "ForSequenceClassification" : "Model");
    folder_.Write(
        "config.json",
        absl::StrCat(R"({"architectures":[")", architecture, R"("],"model_type":")", model_type,
                     R"(","hidden_act":"gelu","hidden_size":8,"intermediate_size":16,"layer_norm_eps":1e-5,)",
                     R"("num_attention_heads":2,"num_hidden_layers":1,"pad_token_id":)", bert ? 0 : 1,
                     R"(,"type_vocab_size":1,"vocab_size":)", kRealVocabulary,
                     R"(,"max_position_embeddings":)", positions,
                     kind == Kind::kReranker ? R"(,"id2label":{"0":"LABEL_0"})" : "", "}"));
    std::filesystem::create_symlink(RealTokenizer(), folder_ / "tokenizer.json");
  }
  const testing::TemporaryFolder& folder() const { return folder_; }
  int32_t positions() const { return positions_; }

 private:
  testing::TemporaryFolder folder_;
  const int32_t positions_;
};

class RecordingReplica final : public Replica {
 public:
  struct Row {
    std::vector<int32_t> ids, type_ids;  // type_ids: or empty, all 0
  };

  explicit RecordingReplica(int32_t max_row_tokens) {
    model_.limits = engine::SyntheticOptions::DefaultLimits();
    model_.limits.vocab_size = kRealVocabulary;
    model_.limits.max_row_tokens = max_row_tokens;
    model_.max_batch_tokens = model_.limits.max_batch_tokens;
  }
  server::Health health() const override { return server::Health::kReady; }
  const ReplicaModel* model() const override { return &model_; }
  server::Ticket Infer(ReplicaRequest request) override {
    server::Reply reply;
    {
      const std::lock_guard lock(mutex_);
      for (size_t r = 0; r < request.rows.size(); ++r) {
        const auto from = static_cast<size_t>(request.cu_seqlens[r]),
                   to = static_cast<size_t>(request.cu_seqlens[r + 1]);
        const auto part = [&](const std::vector<int32_t>& all) {
          const auto at = all.begin();
          return all.empty() ? std::vector<int32_t>()
                             : std::vector<int32_t>(at + static_cast<ptrdiff_t>(from),
                                                    at + static_cast<ptrdiff_t>(to));
        };
        rows_.push_back({part(request.ids), part(request.type_ids)});
        engine::SyntheticRow values =
            engine::SyntheticValues(rows_.back().ids, rows_.back().type_ids, request.rows[r], model_.limits);
        server::RowReply& row = reply.rows.emplace_back();
        row.values = std::move(values.values);
        row.indices = std::move(values.indices);
      }
    }
    request.done(std::move(reply));
    return 0;
  }
  void Cancel(server::Ticket) override {}

  // The rows since this was last asked, in order.
  std::vector<Row> TakeRows() {
    const std::lock_guard lock(mutex_);
    return std::exchange(rows_, {});
  }

 private:
  ReplicaModel model_;
  std::mutex mutex_;
  std::vector<Row> rows_;
};

// A gateway with the real tokenizer whose rows are recorded. It ranks, embeds and weighs, whatever it is
// asked for.
class RecordedGateway {
 public:
  explicit RecordedGateway(int32_t max_tokens = 512, const std::function<void(TestOptions&)>& change = {})
      : real_(RealFolder::Kind::kReranker, max_tokens + 2),
        replica_(max_tokens),
        tiny_(real_.folder().path(), [&](TestOptions& options) {
          options.synthetic = "vocab=250002";  // there must be an engine, though nothing goes there
          options.replica = &replica_;
          if (change) change(options);
        }) {}

  TinyGateway& gateway() { return tiny_; }
  HttpResponse Post(const std::string& path, const std::string& body) {
    (void)replica_.TakeRows();
    return tiny_.Post(path, body);
  }
  std::vector<RecordingReplica::Row> TakeRows() { return replica_.TakeRows(); }
  // The ids of the one row that `input` (JSON) of /embed becomes.
  std::vector<int32_t> IdsOf(const std::string& input, const std::string& more = "") {
    const HttpResponse response = Post("/embed", "{\"inputs\":" + input + more + "}");
    EXPECT_EQ(response.status, 200) << response.body.substr(0, 300);
    std::vector<RecordingReplica::Row> rows = TakeRows();
    if (rows.size() != 1) ADD_FAILURE() << rows.size() << " rows, expected one";
    return rows.empty() ? std::vector<int32_t>() : rows[0].ids;
  }

 private:
  RealFolder real_;
  RecordingReplica replica_;
  TinyGateway tiny_;
};

using Ids = std::vector<int32_t>;

// `text` so many times, `between` between each and the next; quoted for JSON.
inline std::string Times(size_t times, const std::string& text, const std::string& between = " ") {
  std::string all = "\"";
  for (size_t i = 0; i < times; ++i) absl::StrAppend(&all, i == 0 ? "" : between, text);
  return all + "\"";
}

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_REAL_MODEL_H_
