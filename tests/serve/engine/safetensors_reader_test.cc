#include "serve/engine/safetensors_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/serve/model_files.h"

namespace trellis::engine {
namespace {

using ::trellis::testing::Safetensors;
using ::trellis::testing::TinyModel;

using Read = absl::StatusOr<std::vector<SafetensorsEntry>>;

// From memory of exactly this size, so that a sanitizer sees a read behind it.
class Bytes {
 public:
  explicit Bytes(const std::string& file) : bytes_(file.begin(), file.end()) {}
  Read Entries() const {
    return ReadSafetensors(std::as_bytes(std::span<const char>(bytes_)), "x.safetensors");
  }
  const std::byte* begin() const { return reinterpret_cast<const std::byte*>(bytes_.data()); }
  const std::byte* end() const { return begin() + bytes_.size(); }

 private:
  const std::vector<char> bytes_;
};

constexpr char kTwo[] =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]}})";

TEST(SafetensorsReader, ListsTensorsByName) {
  const Bytes file(Safetensors(kTwo, "01234567abcdef"));
  const Read read = file.Entries();
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  const SafetensorsEntry& a = (*read)[0];
  const SafetensorsEntry& b = (*read)[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, "BF16");
  EXPECT_EQ(a.shape, std::vector<int64_t>{3});
  EXPECT_EQ(std::memcmp(a.bytes.data(), "abcdef", 6), 0);
  EXPECT_EQ(a.bytes.size(), 6u);
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.dtype, "F32");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(std::memcmp(b.bytes.data(), "01234567", 8), 0);
}

TEST(SafetensorsReader, TakesWhatTheFormatAllows) {
  for (const std::string& file : {
           Safetensors("{}", ""),
           Safetensors(std::string(kTwo) + "     ", "01234567abcdef"),  // padding of the header
           Safetensors(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "0123"),  // a scalar
           Safetensors(R"({"e":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}})", ""),   // empty
           Safetensors(R"({"e":{"dtype":"I64","shape":[0],"data_offsets":[4,4]},)"  // empty, at the end
                       R"("s":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})",
                       "0123"),
           Safetensors(R"({"q":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}})", "012"),   // half bytes
           Safetensors(R"({"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "0"),  // an escape
       }) {
    const Bytes bytes(file);
    const Read read = bytes.Entries();
    EXPECT_TRUE(read.ok()) << read.status();
  }
}

TEST(SafetensorsReader, RefusesHostileFilesByName) {
  const auto tensor = [](std::string_view inside) {
    return Safetensors("{\"t\":{" + std::string(inside) + "}}", "01234567");
  };
  const auto two = [](std::string_view a, std::string_view b) {
    const std::string form = R"(":{"dtype":"U8","shape":[4],"data_offsets":)";
    return Safetensors("{\"a" + form + std::string(a) + "},\"b" + form + std::string(b) + "}}", "01234567");
  };
  std::string huge = Safetensors(kTwo, "01234567abcdef");
  huge[7] = '\x80';  // 2^63 and more
  std::string longer = Safetensors(kTwo, "");
  ++longer[0];
  const struct {
    std::string file;
    const char* says;
  } cases[] = {
      {"", "x.safetensors: 0 bytes, expected at least the 8"},
      {std::string(7, '\0'), "7 bytes, expected at least the 8"},
      {std::string(8, '\xFF'), "header of 18446744073709551615 bytes, expected at most 0"},
      {huge, "header of 92233720368547"},
      {longer, "expected at most"},
      {std::string(8, '\0'), "does not start with {"},
      {Safetensors(" {}", ""), "does not start with {"},
      {Safetensors("[]", ""), "does not start with {"},
      {Safetensors("{", ""), "x.safetensors: header: expected JSON"},
      {Safetensors("{}{}", ""), "expected JSON"},
      {Safetensors("{\"\xFF\":1}", ""), "expected JSON"},
      {Safetensors(std::string("{}\0", 3), ""), "expected JSON"},
      {Safetensors(R"({"t":1})", ""), "x.safetensors: header: t: 1, expected an object"},
      {Safetensors(R"({"__metadata__":{"a":1}})", ""), "__metadata__.a: 1, expected a string"},
      {Safetensors(R"({"__metadata__":[]})", ""), "__metadata__: an array, expected an object"},
      {Safetensors("{\"t\":" + std::string(2000, '[') + std::string(2000, ']') + "}", ""), "expected JSON"},
      {tensor(R"("shape":[8],"data_offsets":[0,8])"), "t.dtype: missing, expected a string"},
      {tensor(R"("dtype":"U8","data_offsets":[0,8])"), "t.shape: missing"},
      {tensor(R"("dtype":"U8","shape":[8])"), "t.data_offsets: missing"},
      {tensor(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"),
       "t.dtype: \"F31\", expected a dtype of the format"},
      {tensor(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])"), "t.dtype: \"f32\""},
      {tensor(R"("dtype":7,"shape":[2],"data_offsets":[0,8])"), "t.dtype: 7, expected a string"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"stride":[1])"),
       "t.stride: an array, expected only"},
      {tensor(R"("dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8])"), "t.shape: comes twice"},
      {tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
       "t.shape[0]: -2, expected a whole number from 0"},
      {tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), "t.shape[0]: 2.0"},
      {tensor(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])"), "t.shape[0]: \"2\""},
      {tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), "t.shape: 2, expected an array"},
      {tensor(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,8],"data_offsets":[0,8])"),
       "at most 16"},
      // Products that come to 8 bytes when they overflow: 2^32 * 2^32 * 2 elements; and 2^62 + 2.
      {tensor(R"("dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8])"),
       "t.shape: an array, expected extents"},
      {tensor(R"("dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8])"),
       "t.shape: an array, expected extents"},
      {tensor(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8])"),
       "t.shape[0]: 9223372036854775808"},
      {tensor(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), "t.shape: an array, expected extents"},
      {tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
       "t.data_offsets: an array, expected 12 bytes for F32 [3], found 8"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"),
       "t.data_offsets: an array, expected two offsets"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"),
       "t.data_offsets: an array, expected two offsets"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"),
       "t.data_offsets: an array, expected an array of at most 2"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])"), "t.data_offsets[0]: -8"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,0])"),
       "t.data_offsets[0]: 18446744073709551608"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"),
       "tensor t: data_offsets [4,12], expected them to start at 0"},
      {tensor(R"("dtype":"F32","shape":[4],"data_offsets":[0,16])"), "end within the 8 bytes"},
      {tensor(R"("dtype":"F32","shape":[2305843009213693950],"data_offsets":[0,9223372036854775800])"),
       "t.shape: an array, expected extents"},
      {tensor(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"), "8 bytes follow the header, expected 4"},
      {Safetensors("{}", "0"), "1 bytes follow the header, expected 0"},
      {two("[0,4]", "[0,4]"), "tensor b: data_offsets [0,4], expected them to start at 4"},
      {two("[0,4]", "[2,6]"), "tensor b: data_offsets [2,6], expected them to start at 4"},
      {two("[4,8]", "[0,4]"), nullptr},  // any order
      {Safetensors(
           R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"t":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
           "01"),
       "x.safetensors: header: t: comes twice"},
  };
  for (const auto& [file, says] : cases) {
    const Bytes bytes(file);
    const Read read = bytes.Entries();
    if (says == nullptr) {
      EXPECT_TRUE(read.ok()) << read.status();
      continue;
    }
    ASSERT_FALSE(read.ok()) << "accepted, expected " << says;
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(read.status().message().find(says), absl::string_view::npos)
        << read.status() << "\nexpected " << says;
  }
}

TEST(SafetensorsReader, RefusesAFileCutAtAnyByte) {
  const std::string whole = Safetensors(kTwo, "01234567abcdef");
  ASSERT_TRUE(Bytes(whole).Entries().ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Bytes(whole.substr(0, size)).Entries().ok()) << size;
  }
  EXPECT_FALSE(Bytes(whole + "x").Entries().ok());
}

// Whatever a changed byte comes to: what is accepted lies in the file and shares nothing.
TEST(SafetensorsReader, ChangedBytesNeverReachOutside) {
  const std::string whole = Safetensors(kTwo, "01234567abcdef");
  size_t accepted = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char change : {'\0', '\x01', '0', '9', '"', '{', '}', ',', '-', '\x80', '\xFF'}) {
      std::string changed = whole;
      changed[at] = change;
      const Bytes bytes(changed);
      const Read read = bytes.Entries();
      if (!read.ok()) continue;
      ++accepted;
      size_t total = 0;
      for (const SafetensorsEntry& entry : *read) {
        EXPECT_GE(entry.bytes.data(), bytes.begin());
        EXPECT_LE(entry.bytes.data() + entry.bytes.size(), bytes.end());
        total += entry.bytes.size();
      }
      EXPECT_EQ(total, 14u) << at;
    }
  }
  EXPECT_GT(accepted, 14u * 10);  // at least the changes of the tensors' own bytes
}

TEST(SafetensorsReader, ReadsWhatTheReferenceWrote) {
  size_t files = 0;
  for (const auto& found : std::filesystem::recursive_directory_iterator(TinyModel(""))) {
    if (found.path().extension() != ".safetensors") continue;
    std::ifstream in(found.path(), std::ios::binary);
    const Bytes bytes(std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()));
    const Read read = bytes.Entries();
    ASSERT_TRUE(read.ok()) << found.path() << ": " << read.status();
    EXPECT_FALSE(read->empty()) << found.path();
    ++files;
  }
  EXPECT_GE(files, 12u);
}

}  // namespace
}  // namespace trellis::engine
