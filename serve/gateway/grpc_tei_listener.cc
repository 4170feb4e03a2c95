#include "serve/gateway/grpc_tei_listener.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "grpcpp/security/server_credentials.h"
#include "serve/gateway/grpc_tei_services.h"

namespace trellis::gateway {
namespace {

using server::HealthService;
using std::chrono::milliseconds;

// For watchers that go away as soon as they are told.
constexpr milliseconds kWatchersGrace{200};

constexpr char kEmbed[] = "tei.v1.Embed", kPredict[] = "tei.v1.Predict", kRerank[] = "tei.v1.Rerank";

HealthService::State StateOf(const Gateway& gateway, const std::string& service) {
  const std::optional<ServedModel> model = gateway.model();
  bool serves = gateway.ready() && model.has_value();
  if (serves && service == kEmbed) serves = model->Does(engine::Task::kEmbed);
  if (serves && service == kPredict) serves = model->Does(engine::Task::kClassify);
  if (serves && service == kRerank) serves = model->Reranks();
  return serves ? HealthService::State::kServing : HealthService::State::kNotServing;
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) bytes.clear();
  if (bytes.empty()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read, expected a PEM file"));
  return bytes;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> CredentialsOf(const GrpcOptions& options) {
  if (options.tls_cert.empty()) return grpc::InsecureServerCredentials();
  absl::StatusOr<std::string> certificate = ReadPem(options.tls_cert);
  if (!certificate.ok()) return std::move(certificate).status();
  absl::StatusOr<std::string> key = ReadPem(options.tls_key);
  if (!key.ok()) return std::move(key).status();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({*std::move(key), *std::move(certificate)});
  return grpc::SslServerCredentials(tls);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcTeiListener>> GrpcTeiListener::Listen(const GrpcOptions& options,
                                                                         Gateway& gateway) {
  // It would write a line for every string of a stranger that is no UTF-8; its caller is told.
  static const bool silent = [] {
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  (void)silent;
  auto credentials = CredentialsOf(options);
  if (!credentials.ok()) return std::move(credentials).status();
  std::unique_ptr<GrpcTeiListener> listener(new GrpcTeiListener(options, gateway));
  std::vector<grpc::Service*> services = {&listener->health_};
  for (const std::unique_ptr<grpc::Service>& service : listener->services_) services.push_back(service.get());
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // what gRPC can count
  const auto limit = static_cast<int64_t>(std::min<uint64_t>(options.payload_limit, kMost));
  const std::string host =
      absl::StrContains(options.hostname, ':') ? absl::StrCat("[", options.hostname, "]") : options.hostname;
  auto port = server::GrpcPort::Open({.address = absl::StrCat(host, ":", options.port),
                                      .limits = {.request_bytes = limit, .reply_bytes = kMost},
                                      .credentials = *std::move(credentials)},
                                     services);
  if (!port.ok()) return std::move(port).status();
  listener->port_ = *std::move(port);
  return listener;
}

GrpcTeiListener::GrpcTeiListener(const GrpcOptions& options, Gateway& gateway)
    : face_{gateway, options.max_parallel_stream_requests, options.payload_limit},
      services_(MakeTeiServices(face_)),
      health_({"tei.v1.Info", "tei.v1.Tokenize", kEmbed, kPredict, kRerank},
              [&gateway](const std::string& service) { return StateOf(gateway, service); }) {}

void GrpcTeiListener::AnnounceEnd() {
  health_.Refresh();
  face_.live->CloseLasting();
}

bool GrpcTeiListener::Stop(milliseconds limit) {
  if (port_ == nullptr || !port_->serves()) return true;
  AnnounceEnd();
  const bool delivered = face_.live->WaitForNone(limit) == 0;
  health_.Close(kWatchersGrace);
  port_->Stop();
  return delivered;
}

}  // namespace trellis::gateway
