// Any bytes as the body of a POST to any route, all the way to the answer: no crash, rows that an engine may
// be given, and JSON, be it the answer or an error. The first byte picks the route and the model. The
// tokenizer is a made-up one of a few pieces, the values are the synthetic engine's.
#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "serve/engine/synthetic/synthetic_options.h"
#include "serve/engine/synthetic/synthetic_values.h"
#include "serve/gateway/routes.h"
#include "serve/gateway/row_encoder.h"

namespace {

using trellis::Tokenizer;
using trellis::TokenizerSpec;
using trellis::engine::EngineLimits;
using namespace trellis::gateway;

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireJson(std::string_view text) {
  simdjson::dom::parser parser;
  Require(parser.parse(text.data(), text.size()).error() == simdjson::SUCCESS);
}

Tokenizer MakeTokenizer() {
  TokenizerSpec spec;
  const char* pieces[] = {"<s>",     "<pad>",        "</s>", "<unk>",    "\u2581", "a",       "b", "ab",
                          "\u2581a", "\u2581ab",     "c",    "\u2581c",  "q",      "\u2581q", "1", "\u00e9",
                          "\u4e00",  "\u4e00\u4e8c", ":",    "\u2581<s>"};
  double score = 0.0;
  for (const char* piece : pieces) spec.model.pieces.push_back({piece, score -= 0.37});
  for (int i = 0; i < 4; ++i) {
    spec.model.pieces[static_cast<size_t>(i)].score = 0.0;
    spec.added_tokens.push_back({.content = pieces[i], .id = i, .lstrip = i == 1, .special = true});
  }
  spec.model.unk_id = 3;
  spec.pre_tokenizers = {trellis::WhitespaceSplitPreTokenizer{}, trellis::MetaspacePreTokenizer{}};
  spec.decoders = {trellis::MetaspaceDecoder{}};
  const trellis::TemplateSpecial begin{{0}, pieces[0], 0}, end{{2}, pieces[2], 0};
  spec.post_processor.single = {begin, trellis::TemplateSequence{}, end};
  spec.post_processor.pair = {begin,
                              trellis::TemplateSequence{},
                              end,
                              end,
                              trellis::TemplateSequence{trellis::Sequence::kB, 1},
                              end};
  return Tokenizer::Create(spec).value();
}

// A reranker, or a classifier of three labels with types; both do all other tasks too.
struct Model {
  explicit Model(int32_t labels)
      : folder{MakeTokenizer(),
               {},
               16,
               labels == 1 ? trellis::model::TypeIds::kZero : trellis::model::TypeIds::kTemplate,
               {},
               {}},
        encoder(folder.tokenizer, folder.type_ids) {
    for (int32_t i = 0; i < labels; ++i) folder.labels.push_back("label");
    folder.prompts.by_name = {{"q", "q: "}};
    limits = trellis::engine::SyntheticOptions::DefaultLimits();
    limits.vocab_size = folder.tokenizer.vocab().size();
    limits.max_row_tokens = 16;
    limits.labels = labels;
    policy.max_client_batch = 8;
  }
  trellis::model::ModelFolder folder;
  EngineLimits limits;
  RequestPolicy policy;
  ServerFacts facts;
  std::vector<std::string> names = {"model"};
  RowEncoder encoder;
};

// What engine.h asks of a batch.
void RequireRows(const EncodedRows& rows, const RowWork& work, const Model& model) {
  Require(rows.size() == work.inputs.size() && rows.size() >= 1 &&
          rows.size() <= 2 * model.policy.max_client_batch);
  Require(rows.type_ids.empty() || rows.type_ids.size() == rows.ids.size());
  for (size_t r = 0; r < rows.size(); ++r)
    Require(rows.tokens(r) >= 1 && rows.tokens(r) <= model.limits.max_row_tokens);
  for (const int32_t id : rows.ids) Require(id >= 0 && id < model.limits.vocab_size);
  for (const int32_t type : rows.type_ids) Require(type >= 0 && type < model.limits.type_vocab_size);
  Require(work.task.dimensions >= 0 && work.task.dimensions <= model.limits.dimensions);
}

std::vector<trellis::server::RowReply> Compute(const EncodedRows& rows, const RowWork& work,
                                               const Model& model) {
  std::vector<trellis::server::RowReply> replies(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto from = static_cast<size_t>(rows.cu_seqlens[r]), count = static_cast<size_t>(rows.tokens(r));
    const std::span<const int32_t> ids(rows.ids), types(rows.type_ids);
    trellis::engine::SyntheticRow values = trellis::engine::SyntheticValues(
        ids.subspan(from, count), types.empty() ? types : types.subspan(from, count), work.task,
        model.limits);
    replies[r].values = std::move(values.values);
    replies[r].indices = std::move(values.indices);
  }
  return replies;
}

// As gateway_call.cc does it, on one thread.
Result<std::string> Answer(const Route& route, std::string_view bytes, Model& model) {
  JsonBody body(bytes);
  const ServedModel served{model.folder, model.limits, model.policy,
                           model.facts,  model.names,  model.limits.max_batch_tokens};
  const std::string id = "id";
  Result<RoutePlan> plan = route.plan({body, served, model.encoder, id});
  if (!plan.ok()) return plan.error();
  if (auto* written = std::get_if<Written>(&*plan)) return std::move(written->body);
  const RowWork& work = std::get<RowWork>(*plan);
  EncodedRows rows;
  for (size_t i = 0; i < work.inputs.size(); ++i) {
    if (std::optional<ApiError> wrong = model.encoder.Append(work.inputs[i], i, work.rules, rows))
      return *std::move(wrong);
  }
  RequireRows(rows, work, model);
  const std::vector<trellis::server::RowReply> replies = Compute(rows, work, model);
  return work.write({replies, rows.cu_seqlens});
}

std::vector<const Route*> PostRoutes() {
  std::vector<const Route*> posts;
  for (const Route& route : Routes()) {
    if (route.plan != nullptr) posts.push_back(&route);
  }
  return posts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<const Route*> posts = PostRoutes();
  static Model reranker(1), classifier(3);
  if (size == 0 || size > 65536) return 0;
  const Route& route = *posts[data[0] / 2 % posts.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Result<std::string> answer = Answer(route, bytes, data[0] % 2 == 0 ? reranker : classifier);
  if (answer.ok()) {
    RequireJson(*answer);
    return 0;
  }
  Require(!answer.error().message.empty());
  for (const Dialect dialect : {Dialect::kOpenAi, Dialect::kTei}) {
    const HttpResponse response = ErrorResponse(answer.error(), dialect);
    // Nothing that a client says is a fault of ours.
    Require(response.status >= 400 && response.status < 500);
    RequireJson(response.body);
  }
  return 0;
}
