#include "src/compiled_spec.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "src/spec_fields.h"

namespace trellis::internal {
namespace {

// Stages and template pieces: so many have no meaning, and each takes more memory
// than bytes.
constexpr size_t kMostStages = 4096;
constexpr size_t kMostBytes = static_cast<size_t>(-1);

template <typename T>
inline constexpr bool kIsVariant = false;
template <typename... T>
inline constexpr bool kIsVariant<std::variant<T...>> = true;

class Writer {
 public:
  template <typename T>
  using Ref = const T&;

  template <typename... T>
  void operator()(const T&... fields) {
    (Put(fields), ...);
  }

  std::string bytes;
  bool too_long = false;

 private:
  template <typename T>
  requires(std::integral<T> || std::is_enum_v<T>) void Put(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Put(const std::string& text) {
    Put(uint64_t{text.size()});
    bytes += text;
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    Put(value.has_value());
    if (value) Put(*value);
  }
  template <typename T>
  void Put(const std::vector<T>& list) {
    too_long |= kIsVariant<T> && list.size() > kMostStages;
    Put(uint64_t{list.size()});
    for (const T& element : list) Put(element);
  }
  template <typename... T>
  void Put(const std::variant<T...>& value) {
    Put(static_cast<uint8_t>(value.index()));
    std::visit([this](const auto& alternative) { this->Put(alternative); }, value);
  }
  template <typename T>
  requires std::is_class_v<T>
  void Put(const T& fields) {
    if constexpr (!std::is_empty_v<T>) Fields(*this, fields);
  }
};

class Reader {
 public:
  template <typename T>
  using Ref = T&;

  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename... T>
  void operator()(T&... fields) {
    (Get(fields), ...);
  }

  // The first thing that was wrong.
  absl::Status Finish() {
    if (at_ < bytes_.size()) Fail("more bytes", "the end");
    return status_;
  }

 private:
  void Fail(const std::string& value, const std::string& expected) {
    if (!status_.ok()) return;
    status_ =
        absl::InvalidArgumentError("byte " + std::to_string(at_) + ": " + value + ", expected " + expected);
    at_ = bytes_.size();  // whatever comes is read as nothing
  }
  size_t left() const { return bytes_.size() - at_; }

  template <std::integral T>
  void Get(T& value) {
    if (left() < sizeof value) return Fail("the end", std::to_string(sizeof value) + " bytes");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  void Get(bool& value) {
    uint8_t byte = 0;
    Get(byte);
    if (byte > 1) Fail(std::to_string(byte), "0 or 1");
    value = byte == 1;
  }
  template <typename T>
  requires std::is_enum_v<T>
  void Get(T& value) {
    uint8_t byte = 0;
    Get(byte);
    const auto last = static_cast<uint8_t>(Last(T{}));
    if (byte > last) return Fail(std::to_string(byte), "at most " + std::to_string(last));
    value = static_cast<T>(byte);
  }
  void Get(std::string& text) {
    const size_t size = Count(kMostBytes);
    text.assign(bytes_.substr(at_, size));
    at_ += size;
  }
  template <typename T>
  void Get(std::optional<T>& value) {
    bool has = false;
    Get(has);
    if (has) Get(value.emplace());
  }
  template <typename T>
  void Get(std::vector<T>& list) {
    list.clear();
    for (size_t count = Count(kIsVariant<T> ? kMostStages : kMostBytes); count > 0 && status_.ok(); --count) {
      Get(list.emplace_back());
    }
  }
  template <typename... T>
  void Get(std::variant<T...>& value) {
    uint8_t index = 0;
    Get(index);
    if (index >= sizeof...(T))
      return Fail(std::to_string(index), "at most " + std::to_string(sizeof...(T) - 1));
    GetAlternative(index, value, std::index_sequence_for<T...>());
  }
  template <typename Variant, size_t... kIndex>
  void GetAlternative(size_t index, Variant& value, std::index_sequence<kIndex...>) {
    ((kIndex == index ? Get(value.template emplace<kIndex>()) : void()), ...);
  }
  template <typename T>
  requires std::is_class_v<T>
  void Get(T& fields) {
    if constexpr (!std::is_empty_v<T>) Fields(*this, fields);
  }

  // Elements have at least a byte each.
  size_t Count(size_t most) {
    uint64_t count = 0;
    Get(count);
    most = std::min(most, left());
    if (count <= most) return count;
    Fail("a length of " + std::to_string(count), "at most " + std::to_string(most));
    return 0;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::string> SpecBytes(const TokenizerSpec& spec) {
  Writer writer;
  writer(spec);
  if (writer.too_long) {
    return absl::UnimplementedError(
        "spec: more than " + std::to_string(kMostStages) +
        " stages or template pieces in a list, expected fewer in a compiled model");
  }
  return std::move(writer.bytes);
}

absl::StatusOr<TokenizerSpec> ReadSpecBytes(std::string_view bytes) {
  TokenizerSpec spec;
  Reader reader(bytes);
  reader(spec);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return spec;
}

}  // namespace trellis::internal
