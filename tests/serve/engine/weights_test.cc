#include "serve/engine/weights.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/serve/model_files.h"

namespace trellis::engine {
namespace {

using ::trellis::testing::Safetensors;
using ::trellis::testing::TemporaryFolder;
using ::trellis::testing::TinyModel;

std::string Raw(const auto&... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  return bytes;
}

std::string One(std::string_view name, std::string_view dtype, std::string_view shape,
                std::string_view bytes) {
  return Safetensors("{\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" +
                         std::string(shape) + ",\"data_offsets\":[0," + std::to_string(bytes.size()) + "]}}",
                     bytes);
}

std::vector<float> Values(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  tensor.CopyTo(values);
  return values;
}

void ExpectError(const absl::Status& status, absl::StatusCode code, std::string_view says) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_NE(std::string(status.message()).find(says), std::string::npos) << status << "\nexpected " << says;
}

TEST(Weights, ReadsAFolderAndAFile) {
  const TemporaryFolder folder;
  folder.Write("model.safetensors", One("t", "F32", "[2,2]", Raw(1.f, -2.f, 0.5f, 3.f)));
  for (const std::string& path : {folder.path(), folder / "model.safetensors"}) {
    absl::StatusOr<Weights> weights = Weights::Open(path);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_TRUE(weights->Has("t"));
    EXPECT_FALSE(weights->Has("u"));
    Weights moved = *std::move(weights);
    const int64_t shape[] = {2, -1};
    const auto tensor = moved.Find("t", shape);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ((*tensor)->dtype, Dtype::kF32);
    EXPECT_EQ((*tensor)->elements(), 4);
    EXPECT_EQ(Values(**tensor), (std::vector<float>{1.f, -2.f, 0.5f, 3.f}));
  }
}

TEST(Weights, RefusesWhatIsNotFiniteByName) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const TemporaryFolder folder;
  const int64_t shape[] = {2, 3};
  const auto found = [&](std::string_view dtype, std::string_view bytes) {
    folder.Write("model.safetensors", One("t", dtype, "[2,3]", bytes));
    const auto weights = Weights::Open(folder.path());
    return weights.ok() ? weights->Find("t", shape).status() : weights.status();
  };
  const uint16_t half_nan = 0x7C01, half = 0x7BFF, brain_infinity = 0xFF80, brain = 0x7F7F;
  const std::pair<std::string_view, std::string> odd[] = {
      {"F32", Raw(0.f, 1.f, 2.f, 3.f, std::nanf(""), 5.f)},
      {"F32", Raw(0.f, 1.f, 2.f, 3.f, kInfinity, kInfinity)},
      {"F32", Raw(0.f, 1.f, 2.f, 3.f, -kInfinity, std::nanf(""))},
      {"F16", Raw(half, half, half, half, half_nan, half)},
      {"BF16", Raw(brain, brain, brain, brain, brain_infinity, brain)}};
  for (const auto& [dtype, bytes] : odd) {
    ExpectError(found(dtype, bytes), absl::StatusCode::kInvalidArgument,
                "model.safetensors: tensor t: element 4 is no finite number, expected all to be");
  }
  constexpr float kMost = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(found("F32", Raw(kMost, -kMost, least, -least, 0.f, -0.f)), absl::OkStatus());
  EXPECT_EQ(found("F16", Raw(half, half, half, half, half, half)), absl::OkStatus());
  EXPECT_EQ(found("BF16", Raw(brain, brain, brain, brain, brain, brain)), absl::OkStatus());
}

TEST(Weights, NamesWhatIsMissingOrOdd) {
  const TemporaryFolder folder;
  folder.Write("model.safetensors", One("ids", "I64", "[1]", std::string(8, '\0')));
  const auto weights = Weights::Open(folder.path());
  ASSERT_TRUE(weights.ok()) << weights.status();
  const int64_t one[] = {1};
  const int64_t other[] = {-1, 384};
  EXPECT_EQ(weights->names(), std::vector<std::string_view>{"ids"});
  ExpectError(weights->Find("ids", one).status(), absl::StatusCode::kInvalidArgument,
              "model.safetensors: tensor ids: I64, expected F32, F16 or BF16");
  ExpectError(weights->Find("w", other).status(), absl::StatusCode::kNotFound,
              "model.safetensors: tensor w: missing, expected one of shape [any,384]");
  folder.Write("model.safetensors", One("w", "F32", "[2]", std::string(8, '\0')));
  const auto again = Weights::Open(folder.path());
  ASSERT_TRUE(again.ok()) << again.status();
  ExpectError(again->Find("w", other).status(), absl::StatusCode::kInvalidArgument,
              "tensor w: shape [2], expected [any,384]");
}

TEST(Weights, FindsTheOlderNamesOfALayerNorm) {
  const TemporaryFolder folder;
  folder.Write("model.safetensors",
               Safetensors(R"({"e.LayerNorm.gamma":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("e.LayerNorm.beta":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                           Raw(1.5f, 0.25f)));
  const auto weights = Weights::Open(folder.path());
  ASSERT_TRUE(weights.ok()) << weights.status();
  const int64_t shape[] = {1};
  const auto weight = weights->Find("e.LayerNorm.weight", shape);
  const auto bias = weights->Find("e.LayerNorm.bias", shape);
  ASSERT_TRUE(weight.ok() && bias.ok());
  EXPECT_EQ(Values(**weight), std::vector<float>{1.5f});
  EXPECT_EQ(Values(**bias), std::vector<float>{0.25f});
  EXPECT_FALSE(weights->Has("LayerNorm.weight"));
}

TEST(Weights, SaysWhatAFolderLacks) {
  const TemporaryFolder folder;
  ExpectError(Weights::Open(folder.path()).status(), absl::StatusCode::kNotFound,
              "neither model.safetensors nor model.safetensors.index.json inside");
  ExpectError(Weights::Open(folder / "none").status(), absl::StatusCode::kNotFound, "none: cannot be opened");
  ASSERT_EQ(mkfifo((folder / "pipe.safetensors").c_str(), 0600), 0);
  ExpectError(Weights::Open(folder / "pipe.safetensors").status(), absl::StatusCode::kInvalidArgument,
              "no plain file");
  folder.Write("empty.safetensors", "");
  ExpectError(Weights::Open(folder / "empty.safetensors").status(), absl::StatusCode::kInvalidArgument,
              "0 bytes, expected");
  folder.Write("model.safetensors/inside", "");
  ExpectError(Weights::Open(folder.path()).status(), absl::StatusCode::kInvalidArgument, "no plain file");
}

class Shards : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.Write("s1.safetensors", One("a", "F32", "[1]", Raw(1.f)));
    folder_.Write("s2.safetensors", One("b", "F32", "[1]", Raw(2.f)));
    Index(R"({"metadata":{"total_size":8},"weight_map":{"b":"s2.safetensors","a":"s1.safetensors"}})");
  }
  void Index(std::string_view json) { folder_.Write("model.safetensors.index.json", json); }
  absl::Status Open() { return Weights::Open(folder_.path()).status(); }
  const TemporaryFolder folder_;
};

TEST_F(Shards, AreOneCheckpoint) {
  const auto weights = Weights::Open(folder_.path());
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(weights->names(), (std::vector<std::string_view>{"a", "b"}));
  const int64_t shape[] = {1};
  EXPECT_EQ(Values(**weights->Find("a", shape)), std::vector<float>{1.f});
  EXPECT_EQ(Values(**weights->Find("b", shape)), std::vector<float>{2.f});
  const auto tiny = Weights::Open(TinyModel("tiny-xlm-roberta-dense"));
  ASSERT_TRUE(tiny.ok()) << tiny.status();
  EXPECT_GT(tiny->names().size(), 30u);
}

TEST_F(Shards, MustBeAsTheIndexSays) {
  Index(R"({"weight_map":{"a":"s1.safetensors","b":"s3.safetensors"}})");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument,
              "weight_map: names s3.safetensors, expected it to be there");
  Index(R"({"weight_map":{"a":"s1.safetensors"}})");
  EXPECT_TRUE(Open().ok());  // the other file belongs to something else
  Index(R"({"weight_map":{"a":"s1.safetensors","b":"s1.safetensors"}})");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument, "s1.safetensors: 1 tensors, expected the 2");
  Index(R"({"weight_map":{"c":"s1.safetensors"}})");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument,
              "tensor a: expected what model.safetensors.index.json says of it: nothing");
  Index(R"({"weight_map":{"a":"../s1.safetensors"}})");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument,
              "weight_map.a: \"../s1.safetensors\", expected the name of");
  Index(R"({"weight_map":{"a":1}})");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument, "weight_map.a: 1, expected a string");
  Index(R"({"weight_map":{"a":"s1.safetensors","a":"s1.safetensors"}})");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument, "weight_map.a: comes twice");
  Index(R"({"metadata":{}})");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument, "weight_map: missing");
  Index("");
  ExpectError(Open(), absl::StatusCode::kInvalidArgument, "expected JSON");
}

TEST(Weights, FollowsTheHubCachesLinks) {
  namespace fs = std::filesystem;
  const TemporaryFolder cache;
  cache.Write("blobs/0abc", One("t", "F32", "[1]", Raw(4.f)));
  fs::create_directories(cache / "snapshots/1");
  fs::create_symlink("../../blobs/0abc", cache / "snapshots/1/model.safetensors");
  const auto weights = Weights::Open(cache / "snapshots/1");
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_TRUE(weights->Has("t"));
  fs::remove(cache / "blobs/0abc");
  EXPECT_FALSE(Weights::Open(cache / "snapshots/1").ok());
}

}  // namespace
}  // namespace trellis::engine
