// Scratch, the bounds of what encoding takes, and offsets in code points.
#include <new>
#include <string_view>

#include "src/c_api/columns.h"
#include "src/c_api/handles.h"
#include "src/c_api/report.h"
#include "trellis/c_api.h"

using trellis::c_api::Guarded;
using trellis::c_api::Report;

trellis_status trellis_scratch_create(trellis_scratch** scratch) {
  if (scratch == nullptr) return TRELLIS_INVALID_ARGUMENT;
  *scratch = new (std::nothrow) trellis_scratch();
  return *scratch == nullptr ? TRELLIS_RESOURCE_EXHAUSTED : TRELLIS_OK;
}

trellis_status trellis_scratch_reserve(trellis_scratch* scratch, size_t bytes) {
  if (scratch == nullptr) return TRELLIS_INVALID_ARGUMENT;
  return Guarded(Report(nullptr, 0), [&] {
    scratch->scratch.Reserve(bytes);
    return TRELLIS_OK;
  });
}

size_t trellis_scratch_capacity(const trellis_scratch* scratch) {
  return scratch == nullptr ? 0 : scratch->scratch.capacity();
}

size_t trellis_scratch_high_water(const trellis_scratch* scratch) {
  return scratch == nullptr ? 0 : scratch->scratch.high_water();
}

void trellis_scratch_clear(trellis_scratch* scratch) {
  if (scratch != nullptr) scratch->scratch.ClearCache();
}

void trellis_scratch_free(trellis_scratch* scratch) { delete scratch; }

size_t trellis_scratch_bytes(const trellis_tokenizer* tokenizer, size_t input_bytes) {
  return tokenizer == nullptr ? 0 : tokenizer->tokenizer.ScratchBytes(input_bytes);
}

size_t trellis_max_tokens(const trellis_tokenizer* tokenizer, size_t input_bytes) {
  return tokenizer == nullptr ? 0 : tokenizer->tokenizer.MaxTokens(input_bytes);
}

trellis_status trellis_offsets_to_code_points(const trellis_text* text, trellis_scratch* scratch,
                                              trellis_offset* offsets, size_t count, char* message,
                                              size_t message_size) {
  const Report report(message, message_size);
  if (text == nullptr || (text->bytes == nullptr && text->size != 0))
    return report.Invalid("text: NULL, expected a text");
  if (scratch == nullptr) return report.Invalid("scratch: NULL, expected a scratch");
  if ((offsets == nullptr && count != 0) || count > trellis::c_api::kMostTokens) {
    return report.Invalid("offsets: NULL or an impossible count, expected a column");
  }
  if (text->size > UINT32_MAX)
    return report.Fail(TRELLIS_RESOURCE_EXHAUSTED, "text.size: 4 GiB or more, expected less");
  for (size_t i = 0; i < count; ++i) {
    if (offsets[i].begin <= offsets[i].end && offsets[i].end <= text->size) continue;
    return report.Failf(
        TRELLIS_INVALID_ARGUMENT, "offsets[%zu]: %lu to %lu, expected a range of a text of %zu bytes", i,
        static_cast<unsigned long>(offsets[i].begin), static_cast<unsigned long>(offsets[i].end), text->size);
  }
  return Guarded(report, [&] {
    scratch->code_points.SetText(text->size == 0 ? std::string_view()
                                                 : std::string_view(text->bytes, text->size));
    for (size_t i = 0; i < count; ++i) {
      const trellis::Offset offset = scratch->code_points.FromBytes({offsets[i].begin, offsets[i].end});
      offsets[i] = {offset.begin, offset.end};
    }
    return TRELLIS_OK;
  });
}
