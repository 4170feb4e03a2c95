#include "python/src/arrow.h"

#include <limits>
#include <string_view>
#include <utility>

namespace trellis::python {
namespace {

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

bool Bit(const uint8_t* bits, int64_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

template <typename T>
void ReadRows(const ArrowArray& array, ArrowTexts& texts) {
  const auto* bits = static_cast<const uint8_t*>(array.buffers[0]);
  const auto* offsets = static_cast<const T*>(array.buffers[1]);
  const auto* bytes = static_cast<const char*>(array.buffers[2]);
  texts.inputs.reserve(static_cast<size_t>(array.length));
  if (bits != nullptr && array.null_count != 0)
    texts.validity.assign(static_cast<size_t>(array.length + 7) / 8, 0);
  for (int64_t i = 0; i < array.length; ++i) {
    const int64_t row = array.offset + i;
    const bool valid = texts.validity.empty() || Bit(bits, row);
    std::string_view text;
    if (valid) text = {bytes + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row])};
    if (valid && !texts.validity.empty())
      texts.validity[static_cast<size_t>(i / 8)] |= static_cast<uint8_t>(1 << (i % 8));
    if (!valid) ++texts.null_count;
    texts.bytes += text.size();
    texts.inputs.push_back({text});
  }
}

void ReleaseSchema(ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; ++i) {
    if (schema->children[i]->release != nullptr) schema->children[i]->release(schema->children[i]);
    delete schema->children[i];
  }
  delete[] schema->children;
  schema->release = nullptr;
}

void ReleaseLeafSchema(ArrowSchema* schema) { schema->release = nullptr; }

// What an exported array keeps.
struct Exported {
  std::shared_ptr<const ArrowLists> lists;
  const void* buffers[2];
  ArrowArray* children[1];
};

void ReleaseArray(ArrowArray* array) {
  auto* exported = static_cast<Exported*>(array->private_data);
  if (array->n_children > 0) {
    ArrowArray* child = exported->children[0];
    if (child->release != nullptr) child->release(child);
    delete child;
  }
  delete exported;
  array->release = nullptr;
}

void Export(std::shared_ptr<const ArrowLists> lists, int64_t length, int64_t null_count, const void* validity,
            const void* values, ArrowArray* child, ArrowArray& array) {
  auto* exported = new Exported{std::move(lists), {validity, values}, {child}};
  array = {length,
           null_count,
           0,
           2,
           child != nullptr ? 1 : 0,
           exported->buffers,
           child != nullptr ? exported->children : nullptr,
           nullptr,
           &ReleaseArray,
           exported};
}

}  // namespace

absl::Status ReadArrowTexts(const ArrowSchema& schema, const ArrowArray& array, ArrowTexts& texts) {
  const std::string_view format = schema.format;
  if ((format != "u" && format != "U" && format != "z" && format != "Z") || schema.dictionary != nullptr) {
    return absl::InvalidArgumentError(std::string("array: Arrow's type \"") + schema.format +
                                      (schema.dictionary != nullptr ? "\" with a dictionary" : "\"") +
                                      ", expected string, large_string, binary or large_binary (cast it)");
  }
  texts.large = format == "U" || format == "Z";
  if (array.length == 0) return absl::OkStatus();
  texts.large ? ReadRows<int64_t>(array, texts) : ReadRows<int32_t>(array, texts);
  return absl::OkStatus();
}

absl::Status MakeArrowLists(IdRows rows, const ArrowTexts& texts, ArrowLists& lists) {
  lists.large = texts.large;
  if (!lists.large) {
    if (rows.tokens() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return absl::ResourceExhaustedError(
          "array: " + std::to_string(rows.tokens()) +
          " tokens, expected at most 2^31 - 1 of a string array; large_string has no limit");
    }
    lists.offsets.assign(rows.cu_seqlens.begin(), rows.cu_seqlens.end());
  }
  lists.rows = std::move(rows);
  lists.validity = texts.validity;
  lists.null_count = texts.null_count;
  return absl::OkStatus();
}

void ExportArrowSchema(const ArrowLists& lists, ArrowSchema& schema) {
  auto* item =
      new ArrowSchema{"i", "item", nullptr, kNullable, 0, nullptr, nullptr, &ReleaseLeafSchema, nullptr};
  schema = {lists.large ? "+L" : "+l",     "",      nullptr,        kNullable, 1,
            new ArrowSchema* [1] {item }, nullptr, &ReleaseSchema, nullptr};
}

void ExportArrowArray(std::shared_ptr<const ArrowLists> lists, ArrowArray& array) {
  const auto length = static_cast<int64_t>(lists->rows.rows());
  auto* child = new ArrowArray();
  Export(lists, static_cast<int64_t>(lists->rows.tokens()), 0, nullptr, lists->rows.ids.get(), nullptr,
         *child);
  const void* offsets =
      lists->large ? static_cast<const void*>(lists->rows.cu_seqlens.data()) : lists->offsets.data();
  const void* validity = lists->validity.empty() ? nullptr : lists->validity.data();
  const int64_t nulls = lists->null_count;
  Export(std::move(lists), length, nulls, validity, offsets, child, array);
}

}  // namespace trellis::python
