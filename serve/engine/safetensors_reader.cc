#include "serve/engine/safetensors_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "serve/engine/json_file.h"

namespace trellis::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

constexpr size_t kLengthBytes = 8;
// The format allows 100 MB. A header takes about 100 bytes a tensor, an encoder has hundreds of them; and the
// JSON reader takes some thirteen times the header.
constexpr uint64_t kLongestHeader = 16u << 20;
constexpr size_t kMostExtents = 16;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct KnownDtype {
  std::string_view name;
  unsigned bits;
};
constexpr KnownDtype kDtypes[] = {
    {"F32", 32}, {"F16", 16},    {"BF16", 16},   {"F64", 64},    {"I64", 64},    {"I32", 32},    {"I16", 16},
    {"I8", 8},   {"U64", 64},    {"U32", 32},    {"U16", 16},    {"U8", 8},      {"BOOL", 8},    {"C64", 64},
    {"F4", 4},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6},
};

absl::Status Damaged(const std::string& file, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", what));
}

// Bytes of a dense tensor, or none when they are no whole number or beyond counting.
bool BytesOfShape(std::span<const int64_t> shape, unsigned bits, uint64_t& bytes) {
  uint64_t total = bits;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(extent), &total)) return false;
  }
  bytes = total / 8;
  return total % 8 == 0;
}

// `place` is relative to the tensors' bytes.
struct Placed {
  SafetensorsEntry entry;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Placed ReadEntry(const std::string& name, const JsonNode& node) {
  Placed placed;
  placed.entry.name = name;
  for (const auto& [key, value] : node.Fields()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      node.Fail(node.Wrong(key, "only dtype, shape and data_offsets"));
    }
  }
  const std::string dtype = node.String("dtype");
  placed.entry.shape = node.Integers("shape", 0, kMost, kMostExtents);
  const std::vector<int64_t> offsets = node.Integers("data_offsets", 0, kMost, 2);
  const KnownDtype* known = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                         [&](const KnownDtype& d) { return d.name == dtype; });
  if (known == std::end(kDtypes)) {
    node.Fail(node.Wrong("dtype", "a dtype of the format, such as F32, F16 or BF16"));
    return placed;
  }
  placed.entry.dtype = known->name;
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    node.Fail(node.Wrong("data_offsets", "two offsets, the first not larger than the second"));
    return placed;
  }
  placed.begin = static_cast<uint64_t>(offsets[0]);
  placed.end = static_cast<uint64_t>(offsets[1]);
  uint64_t bytes = 0;
  if (!BytesOfShape(placed.entry.shape, known->bits, bytes)) {
    node.Fail(node.Wrong("shape",
                         absl::StrCat("extents whose product is a number of whole bytes below 2^61, found [",
                                      absl::StrJoin(placed.entry.shape, ","), "]")));
  } else if (bytes != placed.end - placed.begin) {
    node.Fail(node.Wrong("data_offsets", absl::StrCat(bytes, " bytes for ", dtype, " [",
                                                      absl::StrJoin(placed.entry.shape, ","), "], found ",
                                                      placed.end - placed.begin)));
  }
  return placed;
}

}  // namespace

absl::StatusOr<std::vector<SafetensorsEntry>> ReadSafetensors(std::span<const std::byte> bytes,
                                                              const std::string& file) {
  if (bytes.size() < kLengthBytes) {
    return Damaged(file,
                   absl::StrCat(bytes.size(), " bytes, expected at least the 8 of the header's length"));
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLongestHeader || length > bytes.size() - kLengthBytes) {
    return Damaged(file, absl::StrCat("header of ", length, " bytes, expected at most ",
                                      std::min<uint64_t>(kLongestHeader, bytes.size() - kLengthBytes)));
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  const std::span<const std::byte> tensors = bytes.subspan(kLengthBytes + length);
  if (header.empty() || header.front() != '{') {
    return Damaged(file, "the header does not start with {, expected a JSON object");
  }
  absl::StatusOr<JsonFile> json = JsonFile::Parse(absl::StrCat(file, ": header"), header);
  if (!json.ok()) return json.status();

  std::vector<Placed> placed;
  for (const auto& [name, node] : json->root().Fields()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : node.Fields()) value.Text();
    } else {
      placed.push_back(ReadEntry(name, node));
    }
    if (!json->status().ok()) return json->status();
  }
  if (!json->status().ok()) return json->status();

  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Placed& next : placed) {
    if (next.begin != at || next.end > tensors.size()) {
      return Damaged(file, absl::StrCat("tensor ", next.entry.name, ": data_offsets [", next.begin, ",",
                                        next.end, "], expected them to start at ", at,
                                        ", where the one before ends, and to "
                                        "end within the ",
                                        tensors.size(), " bytes that follow the header"));
    }
    at = next.end;
  }
  if (at != tensors.size()) {
    return Damaged(file, absl::StrCat(tensors.size(), " bytes follow the header, expected ", at,
                                      ", where the last tensor ends"));
  }
  std::vector<SafetensorsEntry> entries;
  entries.reserve(placed.size());
  for (Placed& next : placed) {
    next.entry.bytes = tensors.subspan(next.begin, next.end - next.begin);
    entries.push_back(std::move(next.entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace trellis::engine
