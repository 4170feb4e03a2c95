// trellis-gateway as a child: start, flags and environment, TLS, the end.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cctype>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "grpcpp/create_channel.h"
#include "tei/v1/tei.grpc.pb.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/http_client.h"
#include "tests/serve/grpc/running_server.h"

namespace trellis::gateway {
namespace {

using server::RunningServer;

std::vector<std::string> Arguments(const std::string& model, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {
      "--model", testing::TinyModel(model), "--port", "0", "--dtype", "f32", "--threads",
      "1",       "--max-batch-tokens",      "256"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(GatewayProgram, ServesAndEnds) {
  RunningServer program(Arguments("tiny-bert", {"--api-key", "secret", "--served-model-name", "mine"}),
                        {"TRELLIS_DEFAULT_PROMPT_NAME=query", "TRELLIS_JSON_OUTPUT=true"});
  const int port = program.ReadPort("listening on");
  ASSERT_FALSE(program.ReadUntil("ready on 127.0.0.1:").empty()) << program.said();
  HttpClient client(port);
  EXPECT_EQ(client.Get("/health").status, 200);
  EXPECT_EQ(client.Post("/v1/embeddings", R"({"input":"water","model":"mine"})").status, 401);
  const HttpAnswer answer = client.Post("/v1/embeddings", R"({"input":"water","model":"mine"})",
                                        "Authorization: Bearer secret\r\n");
  EXPECT_EQ(answer.status, 200);
  const Json json(answer.body);
  // <s>, three of "query: ", "water", </s>, as the environment's prompt has it.
  EXPECT_EQ(json.Integer("/usage/prompt_tokens"), 5);
  EXPECT_EQ(json.Text("/model"), "mine");
  const std::string line = program.ReadUntil("\"/v1/embeddings\",\"status\":200");
  EXPECT_EQ(Json(line).Integer("/tokens"), 5) << line;
  const HttpAnswer metrics = client.Get("/metrics");
  EXPECT_NE(metrics.body.find("te_embed_count 1"), std::string::npos);
  EXPECT_NE(metrics.body.find("trellis_inputs_total{task=\"embed\"} 1"), std::string::npos)
      << "the server's too";
  program.Signal(SIGTERM);
  EXPECT_FALSE(program.ReadUntil("drained: every accepted request was answered").empty()) << program.said();
  EXPECT_EQ(program.Wait(), 0);
}

// Tokens of the text "</s>" as the program counts them, once its log has said `logged` of the request.
int64_t TokensOfSpecialText(std::vector<std::string> flags, const std::string& logged) {
  RunningServer program(Arguments("tiny-bert", std::move(flags)));
  const int port = program.ReadPort("listening on");
  EXPECT_FALSE(program.ReadUntil("ready on 127.0.0.1:").empty()) << program.said();
  const HttpAnswer answer = HttpClient(port).Post("/v1/embeddings", R"({"input":"</s>"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_FALSE(program.ReadUntil(logged).empty()) << program.said();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  return Json(answer.body).Integer("/usage/prompt_tokens");
}

// Alone, with a value beside it, with one behind "=".
TEST(GatewayProgram, OnOffFlags) {
  const std::string kText = "\"POST /v1/embeddings\" 200",
                    kJson = "\"path\":\"/v1/embeddings\",\"status\":200";
  EXPECT_EQ(TokensOfSpecialText({}, kText), 3) << "<s>, the text, </s>";
  EXPECT_EQ(TokensOfSpecialText({"--json-output", "--shield", "false"}, kJson), 3);
  EXPECT_GT(TokensOfSpecialText({"--json-output=false", "--shield"}, kText), 3);
  EXPECT_GT(TokensOfSpecialText({"--shield=on", "--json-output", "true"}, kJson), 3);
}

TEST(GatewayProgram, WrongUsageEndsIt) {
  const auto expect = [](std::vector<std::string> arguments, const std::string& said, int status) {
    RunningServer program(std::move(arguments));
    EXPECT_FALSE(program.ReadUntil(said).empty()) << program.said();
    EXPECT_EQ(program.Wait(), status) << said;
  };
  expect({}, "--model is required", 2);
  expect({"--model", testing::TinyModel("none")}, testing::TinyModel("none"), 2);
  expect(Arguments("tiny-bert", {"--default-prompt-name", "none"}), "passage", 2);
  expect({"--model", testing::TinyModel("tiny-bert"), "--max-batch-tokens", "63"}, "expected at least the 64",
         2);
  expect(Arguments("tiny-bert", {"--max-queued-tokens", "63"}), "max_queued_tokens: 63", 2);
  expect(Arguments("tiny-bert", {"--api-key", ""}), "--api-key", 2);
  expect(Arguments("tiny-bert", {"--tls-cert", "x"}), "--tls-key", 2);
  expect(Arguments("tiny-bert", {"--tls-cert", "none.pem", "--tls-key", "none.pem"}), "none.pem", 2);
  expect(Arguments("tiny-bert", {"--hostname", "192.0.2.1"}), "192.0.2.1", 1);
  const auto expect_of_variable = [](const std::string& variable, const std::string& said) {
    RunningServer program(Arguments("tiny-bert"), {variable});
    EXPECT_FALSE(program.ReadUntil(said).empty()) << program.said();
    EXPECT_EQ(program.Wait(), 2) << said;
  };
  // As a script with an unset variable gives it: not for everybody to come in.
  expect_of_variable("TRELLIS_API_KEY=", "TRELLIS_API_KEY: empty");
  expect_of_variable("TRELLIS_TLS_CERT=", "TRELLIS_TLS_CERT: empty");
  expect(Arguments("tiny-bert", {"--shield", "perhaps"}), "\"perhaps\", expected true or false", 2);
  expect(Arguments("tiny-bert", {"--grpc-port", "70000"}), "--grpc-port", 2);
  const std::string model = testing::TinyModel("tiny-bert");
  expect({"--model", model, "--device", "gpu"}, "--device: 'gpu', expected cpu, cuda or cuda:N", 2);
  expect({"--model", model, "--device", "cuda", "--dtype", "float32"},
         "--dtype: float32, expected auto, bf16 or fp16 with --device cuda", 2);
  expect({"--model", model, "--device", "cpu", "--engine", "synthetic"},
         "--device: given beside --engine or --backend", 2);
  // More than any machine has, so it is missing with CUDA and without.
  expect({"--model", model, "--device", "cuda:1023"}, "--device: cuda:1023: ", 1);
  expect({"--help"}, "TRELLIS_MAX_BATCH_TOKENS", 0);
}

TEST(GatewayProgram, EveryFlagHasAHeadingAndAVariable) {
  RunningServer program({"--help"});
  EXPECT_EQ(program.Wait(), 0);
  program.ReadUntil("Exit status");
  std::istringstream lines(program.said());
  std::set<std::string> headings;
  std::string heading;
  size_t flags = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(":")) heading = line;
    if (!line.starts_with("  --")) continue;  // -h,--help is CLI11's own
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (name == "--version" || name == "--completion") continue;  // which print and end
    ++flags;
    headings.insert(heading);
    std::string variable = "TRELLIS";
    for (const char c : name.substr(1)) variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    EXPECT_NE(line.find("(Env:" + variable + ")"), std::string::npos) << line;
    EXPECT_NE(heading, "Options:") << line;
  }
  EXPECT_GE(flags, 30u);
  EXPECT_EQ(headings.size(), 6u);
}

TEST(GatewayProgram, SpeaksGrpcBesideHttp) {
  RunningServer program(Arguments("tiny-bert", {"--api-key", "secret"}), {"TRELLIS_GRPC_PORT=0"});
  HttpClient http(program.ReadPort("listening on"));
  const int port = program.ReadPort("gRPC on");
  ASSERT_FALSE(program.ReadUntil("ready on").empty()) << program.said();
  const auto stub = tei::v1::Embed::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  tei::v1::EmbedRequest request;
  request.set_inputs("water");
  tei::v1::EmbedResponse answer;
  {
    grpc::ClientContext call;
    EXPECT_EQ(stub->Embed(&call, request, &answer).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  grpc::ClientContext call;
  call.AddMetadata("authorization", "Bearer secret");
  ASSERT_TRUE(stub->Embed(&call, request, &answer).ok());
  const HttpAnswer vector = http.Post("/embed", R"({"inputs":"water"})", "Authorization: Bearer secret\r\n");
  EXPECT_EQ(std::vector<float>(answer.embeddings().begin(), answer.embeddings().end()),
            Json(vector.body).Floats("/0"));
  const HttpAnswer metrics = http.Get("/metrics");
  EXPECT_NE(metrics.body.find("trellis_grpc_requests_total{code=\"OK\",method=\"/tei.v1.Embed/Embed\"} 1"),
            std::string::npos);
  EXPECT_NE(metrics.body.find("te_embed_count 2"), std::string::npos) << "of both faces";
  // A stream that would last does not hold the end.
  grpc::ClientContext lasting;
  lasting.AddMetadata("authorization", "Bearer secret");
  const auto stream = stub->EmbedStream(&lasting);
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&answer));
  program.Signal(SIGTERM);
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_FALSE(program.ReadUntil("drained: every accepted request was answered").empty()) << program.said();
  EXPECT_EQ(program.Wait(), 0);
}

// A certificate of its own for this machine, and its key, as PEM files in `folder`.
void WriteCertificate(const testing::TemporaryFolder& folder) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  ASSERT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
  FILE* out = fopen((folder / "cert.pem").c_str(), "w");
  PEM_write_X509(out, certificate.get());
  fclose(out);
  out = fopen((folder / "key.pem").c_str(), "w");
  PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  fclose(out);
}

TEST(GatewayProgram, SpeaksTls) {
  const testing::TemporaryFolder folder;
  WriteCertificate(folder);
  RunningServer program(Arguments(
      "tiny-bert", {"--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem", "--grpc-port", "0"}));
  const int port = program.ReadPort("listening on");
  const int grpc_port = program.ReadPort("gRPC on");
  ASSERT_FALSE(program.ReadUntil("ready on").empty()) << program.said();
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> shared(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  ASSERT_EQ(SSL_CTX_load_verify_locations(shared.get(), (folder / "cert.pem").c_str(), nullptr), 1);
  SSL_CTX_set_verify(shared.get(), SSL_VERIFY_PEER, nullptr);
  BIO* connection = BIO_new_ssl_connect(shared.get());
  BIO_set_conn_hostname(connection, ("127.0.0.1:" + std::to_string(port)).c_str());
  ASSERT_EQ(BIO_do_handshake(connection), 1);
  for (int i = 0; i < 2; ++i) {  // the connection stays
    BIO_puts(connection, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    std::string answer;
    char part[1000];
    while (answer.find("{\"status\":\"ok\"}") == std::string::npos) {
      const int count = BIO_read(connection, part, sizeof(part));
      ASSERT_GT(count, 0) << answer;
      answer.append(part, static_cast<size_t>(count));
    }
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  }
  BIO_free_all(connection);
  // Who does not speak TLS is not served, and does no harm.
  HttpClient plain(port);
  plain.Send("GET /health HTTP/1.1\r\n\r\n");
  EXPECT_EQ(plain.Read("GET").status, 0);
  // gRPC too, or a key that is safe here would be read there.
  const auto ask = [&](const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    const auto stub = tei::v1::Tokenize::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(grpc_port), credentials, arguments));
    tei::v1::EncodeRequest request;
    request.set_inputs("water");
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    tei::v1::EncodeResponse answer;
    return stub->Tokenize(&call, request, &answer).error_code();
  };
  grpc::SslCredentialsOptions trusted;
  trusted.pem_root_certs = folder.Read("cert.pem");
  EXPECT_EQ(ask(grpc::SslCredentials(trusted)), grpc::StatusCode::OK);
  EXPECT_EQ(ask(grpc::InsecureChannelCredentials()), grpc::StatusCode::UNAVAILABLE);
  program.Signal(SIGTERM);
  EXPECT_FALSE(program.ReadUntil("drained").empty()) << program.said();
  EXPECT_EQ(program.Wait(), 0);
}

}  // namespace
}  // namespace trellis::gateway
