#include "serve/gateway/grpc_tei_services.h"

#include <optional>

#include "serve/gateway/grpc_caller.h"
#include "serve/gateway/grpc_tei_methods.h"
#include "serve/gateway/grpc_unary_call.h"
#include "tei/v1/tei.grpc.pb.h"

namespace trellis::gateway {
namespace {

using grpc::ByteBuffer;
using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;
using Bidi = grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>;
using grpc::ServerReadReactor;

class AboutService final : public tei::v1::Info::CallbackService {
 public:
  explicit AboutService(TeiFace& face) : gateway_(face.gateway) {}

  Unary* Info(Context* context, const tei::v1::InfoRequest*, tei::v1::InfoResponse* answer) override {
    const GrpcCaller caller = CallerOf(*context, tei_methods::kInfo.path);
    const std::optional<ApiError> refused = AdmitCaller(gateway_, caller);
    if (!refused.has_value()) *answer = TeiInfo(*gateway_.model());
    RequestRecord record = caller.record;
    record.total = server::Clock::now() - caller.arrived;
    TellOfCall(gateway_, record, refused, answer->ByteSizeLong(), RequestRecord::Client::kWaited);
    Unary* const reactor = context->DefaultReactor();
    reactor->Finish(refused.has_value() ? ToStatus(*refused) : grpc::Status::OK);
    return reactor;
  }

 private:
  Gateway& gateway_;
};

Unary* Once(TeiFace& face, const TeiMethod& method, Context* context, const ByteBuffer* message,
            ByteBuffer* answer) {
  return UnaryCall::Start(face.gateway, face.live, method, context, message, answer);
}

namespace embed {
using Names = tei::v1::Embed;
using Sparse =
    Names::WithRawCallbackMethod_EmbedSparse<Names::WithRawCallbackMethod_EmbedSparseStream<Names::Service>>;
using All = Names::WithRawCallbackMethod_EmbedAll<Names::WithRawCallbackMethod_EmbedAllStream<Sparse>>;
using Raw = Names::WithRawCallbackMethod_Embed<Names::WithRawCallbackMethod_EmbedStream<All>>;
}  // namespace embed

class EmbedService final : public embed::Raw {
 public:
  explicit EmbedService(TeiFace& face) : face_(face) {}
  Unary* Embed(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kEmbed, context, message, answer);
  }
  Bidi* EmbedStream(Context* context) override {
    return BidiCall::Start(face_, tei_methods::kEmbedStream, context);
  }
  Unary* EmbedSparse(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kEmbedSparse, context, message, answer);
  }
  Bidi* EmbedSparseStream(Context* context) override {
    return BidiCall::Start(face_, tei_methods::kEmbedSparseStream, context);
  }
  Unary* EmbedAll(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kEmbedAll, context, message, answer);
  }
  Bidi* EmbedAllStream(Context* context) override {
    return BidiCall::Start(face_, tei_methods::kEmbedAllStream, context);
  }

 private:
  TeiFace& face_;
};

namespace predict {
using Names = tei::v1::Predict;
using Pair =
    Names::WithRawCallbackMethod_PredictPair<Names::WithRawCallbackMethod_PredictPairStream<Names::Service>>;
using Raw = Names::WithRawCallbackMethod_Predict<Names::WithRawCallbackMethod_PredictStream<Pair>>;
}  // namespace predict

class PredictService final : public predict::Raw {
 public:
  explicit PredictService(TeiFace& face) : face_(face) {}
  Unary* Predict(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kPredict, context, message, answer);
  }
  Bidi* PredictStream(Context* context) override {
    return BidiCall::Start(face_, tei_methods::kPredictStream, context);
  }
  Unary* PredictPair(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kPredictPair, context, message, answer);
  }
  Bidi* PredictPairStream(Context* context) override {
    return BidiCall::Start(face_, tei_methods::kPredictPairStream, context);
  }

 private:
  TeiFace& face_;
};

namespace rerank {
using Names = tei::v1::Rerank;
using Raw = Names::WithRawCallbackMethod_Rerank<Names::WithRawCallbackMethod_RerankStream<Names::Service>>;
}  // namespace rerank

class RerankService final : public rerank::Raw {
 public:
  explicit RerankService(TeiFace& face) : face_(face) {}
  Unary* Rerank(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kRerank, context, message, answer);
  }
  ServerReadReactor<ByteBuffer>* RerankStream(Context* context, ByteBuffer* answer) override {
    return RankCall::Start(face_, tei_methods::kRerankStream, context, answer);
  }

 private:
  TeiFace& face_;
};

namespace tokenize {
using Names = tei::v1::Tokenize;
using Decode = Names::WithRawCallbackMethod_Decode<Names::WithRawCallbackMethod_DecodeStream<Names::Service>>;
using Raw = Names::WithRawCallbackMethod_Tokenize<Names::WithRawCallbackMethod_TokenizeStream<Decode>>;
}  // namespace tokenize

class TokenizeService final : public tokenize::Raw {
 public:
  explicit TokenizeService(TeiFace& face) : face_(face) {}
  Unary* Tokenize(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kTokenize, context, message, answer);
  }
  Bidi* TokenizeStream(Context* context) override {
    return BidiCall::Start(face_, tei_methods::kTokenizeStream, context);
  }
  Unary* Decode(Context* context, const ByteBuffer* message, ByteBuffer* answer) override {
    return Once(face_, tei_methods::kDecode, context, message, answer);
  }
  Bidi* DecodeStream(Context* context) override {
    return BidiCall::Start(face_, tei_methods::kDecodeStream, context);
  }

 private:
  TeiFace& face_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeTeiServices(TeiFace& face) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<AboutService>(face));
  services.push_back(std::make_unique<EmbedService>(face));
  services.push_back(std::make_unique<PredictService>(face));
  services.push_back(std::make_unique<RerankService>(face));
  services.push_back(std::make_unique<TokenizeService>(face));
  return services;
}

}  // namespace trellis::gateway
