// The methods of tei.v1: what becomes of a message, and how its answer is written. Pure, as HTTP's routes
// are.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_TEI_METHODS_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_TEI_METHODS_H_

#include <cstdint>
#include <vector>

#include "grpcpp/support/byte_buffer.h"
#include "serve/gateway/result.h"
#include "serve/gateway/route_plan.h"
#include "tei/v1/tei.pb.h"

namespace trellis::gateway {

// The answer's body is a message too, serialized.
using TeiPlan = Result<RoutePlan>(const grpc::ByteBuffer& message, const ServedModel& model,
                                  RowEncoder& encoder);
TeiPlan PlanGrpcEmbed, PlanGrpcEmbedAll, PlanGrpcEmbedSparse;
TeiPlan PlanGrpcPredict, PlanGrpcPredictPair;
TeiPlan PlanGrpcRerank;
TeiPlan PlanGrpcRankText;  // of RerankStream: a Rank with the text, the logit and no index
TeiPlan PlanGrpcTokenize, PlanGrpcDecode;

tei::v1::InfoResponse TeiInfo(const ServedModel& model);

// Messages of RerankStream as one answer. The logits become scores.
struct RankedTexts {
  std::vector<tei::v1::Rank> ranks;  // in the order of the texts
  RowCosts costs;
  enum class Scores : uint8_t { kSigmoid, kRaw } scores = Scores::kSigmoid;
  enum class Texts : uint8_t { kLeftOut, kReturned } texts = Texts::kLeftOut;
};
tei::v1::RerankResponse WriteRanks(RankedTexts ranked);

struct TeiMethod {
  // What a call does when all places are taken.
  enum class FullHouse : uint8_t { kRefused, kWaits };

  const char* path;
  FullHouse full_house;
  TeiPlan* plan;
};

namespace tei_methods {

inline constexpr auto kRefused = TeiMethod::FullHouse::kRefused;
inline constexpr auto kWaits = TeiMethod::FullHouse::kWaits;

inline constexpr TeiMethod kInfo{"/tei.v1.Info/Info", kRefused, nullptr};
inline constexpr TeiMethod kEmbed{"/tei.v1.Embed/Embed", kRefused, PlanGrpcEmbed};
inline constexpr TeiMethod kEmbedStream{"/tei.v1.Embed/EmbedStream", kWaits, PlanGrpcEmbed};
inline constexpr TeiMethod kEmbedSparse{"/tei.v1.Embed/EmbedSparse", kRefused, PlanGrpcEmbedSparse};
inline constexpr TeiMethod kEmbedSparseStream{"/tei.v1.Embed/EmbedSparseStream", kWaits, PlanGrpcEmbedSparse};
inline constexpr TeiMethod kEmbedAll{"/tei.v1.Embed/EmbedAll", kRefused, PlanGrpcEmbedAll};
inline constexpr TeiMethod kEmbedAllStream{"/tei.v1.Embed/EmbedAllStream", kWaits, PlanGrpcEmbedAll};
inline constexpr TeiMethod kPredict{"/tei.v1.Predict/Predict", kRefused, PlanGrpcPredict};
inline constexpr TeiMethod kPredictStream{"/tei.v1.Predict/PredictStream", kWaits, PlanGrpcPredict};
inline constexpr TeiMethod kPredictPair{"/tei.v1.Predict/PredictPair", kRefused, PlanGrpcPredictPair};
inline constexpr TeiMethod kPredictPairStream{"/tei.v1.Predict/PredictPairStream", kWaits,
                                              PlanGrpcPredictPair};
inline constexpr TeiMethod kRerank{"/tei.v1.Rerank/Rerank", kWaits, PlanGrpcRerank};
inline constexpr TeiMethod kRerankStream{"/tei.v1.Rerank/RerankStream", kWaits, PlanGrpcRankText};
inline constexpr TeiMethod kTokenize{"/tei.v1.Tokenize/Tokenize", kWaits, PlanGrpcTokenize};
inline constexpr TeiMethod kTokenizeStream{"/tei.v1.Tokenize/TokenizeStream", kWaits, PlanGrpcTokenize};
inline constexpr TeiMethod kDecode{"/tei.v1.Tokenize/Decode", kWaits, PlanGrpcDecode};
inline constexpr TeiMethod kDecodeStream{"/tei.v1.Tokenize/DecodeStream", kWaits, PlanGrpcDecode};

// For metrics: the paths there are.
inline constexpr const char* kPaths[] = {kInfo.path,
                                         kEmbed.path,
                                         kEmbedStream.path,
                                         kEmbedSparse.path,
                                         kEmbedSparseStream.path,
                                         kEmbedAll.path,
                                         kEmbedAllStream.path,
                                         kPredict.path,
                                         kPredictStream.path,
                                         kPredictPair.path,
                                         kPredictPairStream.path,
                                         kRerank.path,
                                         kRerankStream.path,
                                         kTokenize.path,
                                         kTokenizeStream.path,
                                         kDecode.path,
                                         kDecodeStream.path};

}  // namespace tei_methods
}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_TEI_METHODS_H_
