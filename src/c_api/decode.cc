// Decoding: ids to text, at once and one by one.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "src/c_api/handles.h"
#include "src/c_api/report.h"
#include "src/c_api/versioned.h"
#include "trellis/c_api.h"

namespace trellis::c_api {
namespace {

std::optional<DecodeOptions> ReadDecodeOptions(const trellis_decode_options* from, const Report& report) {
  const auto options = ReadOptions(from, "options", report);
  if (!options || !FieldsFit({{"options.keep_special_tokens", options->keep_special_tokens, 1},
                              {"options.clean_up", options->clean_up, 1}},
                             report)) {
    return std::nullopt;
  }
  return DecodeOptions{.skip_special_tokens = options->keep_special_tokens == 0,
                       .clean_up = options->clean_up != 0};
}

bool IdsAreSound(const int32_t* ids, size_t count) {
  return ids == nullptr ? count == 0 : count <= PTRDIFF_MAX / sizeof(int32_t);
}

// Both calls of a stream.
template <typename Call>
trellis_status StreamCall(trellis_decode_stream* stream, const char** text, size_t* size, const Call& call) {
  if (text == nullptr || size == nullptr) return TRELLIS_INVALID_ARGUMENT;
  *text = "";
  *size = 0;
  if (stream == nullptr) return TRELLIS_INVALID_ARGUMENT;
  const Report report(nullptr, 0);
  return Guarded(report, [&]() -> trellis_status {
    const absl::StatusOr<std::string_view> got = call(stream->stream);
    if (!got.ok()) return report.From(got.status());
    if (!got->empty()) *text = got->data();
    *size = got->size();
    return TRELLIS_OK;
  });
}

}  // namespace
}  // namespace trellis::c_api

using trellis::c_api::Guarded;
using trellis::c_api::Report;

trellis_status trellis_decode(const trellis_tokenizer* tokenizer, const int32_t* ids, size_t count,
                              const trellis_decode_options* options, char* text, size_t capacity,
                              size_t* size, char* message, size_t message_size) {
  const Report report(message, message_size);
  if (size == nullptr) return report.Invalid("size: NULL, expected where to put it");
  *size = 0;
  if (tokenizer == nullptr) return report.Invalid("tokenizer: NULL, expected a tokenizer");
  if (!trellis::c_api::IdsAreSound(ids, count))
    return report.Invalid("ids: NULL or an impossible count, expected ids");
  if (text == nullptr ? capacity != 0 : capacity > PTRDIFF_MAX) {
    return report.Invalid("text: NULL or an impossible capacity, expected memory");
  }
  return Guarded(report, [&]() -> trellis_status {
    const auto read = trellis::c_api::ReadDecodeOptions(options, report);
    if (!read) return TRELLIS_INVALID_ARGUMENT;
    const auto decoded = tokenizer->tokenizer.Decode({ids, count}, *read, {text, capacity});
    if (decoded.ok()) {
      // Decoders write at the front of the memory.
      *size = decoded->size();
      return TRELLIS_OK;
    }
    if (absl::IsResourceExhausted(decoded.status())) {
      return report.Failf(TRELLIS_RESOURCE_EXHAUSTED,
                          "text: room for %zu bytes; trellis_decoded_bytes, %zu, is enough", capacity,
                          tokenizer->tokenizer.DecodedBytes({ids, count}));
    }
    return report.Fail(static_cast<trellis_status>(decoded.status().code()),
                       "ids: a token that the file's Strip decoder would strip of more than it has");
  });
}

size_t trellis_decoded_bytes(const trellis_tokenizer* tokenizer, const int32_t* ids, size_t count) {
  if (tokenizer == nullptr || !trellis::c_api::IdsAreSound(ids, count)) return 0;
  return tokenizer->tokenizer.DecodedBytes({ids, count});
}

trellis_status trellis_decode_stream_create(const trellis_tokenizer* tokenizer,
                                            const trellis_decode_options* options,
                                            trellis_decode_stream** stream, char* message,
                                            size_t message_size) {
  const Report report(message, message_size);
  if (stream == nullptr) return report.Invalid("stream: NULL, expected where to put it");
  *stream = nullptr;
  if (tokenizer == nullptr) return report.Invalid("tokenizer: NULL, expected a tokenizer");
  return Guarded(report, [&]() -> trellis_status {
    const auto read = trellis::c_api::ReadDecodeOptions(options, report);
    if (!read) return TRELLIS_INVALID_ARGUMENT;
    *stream = new trellis_decode_stream{trellis::DecodeStream(tokenizer->tokenizer, *read)};
    return TRELLIS_OK;
  });
}

trellis_status trellis_decode_stream_step(trellis_decode_stream* stream, int32_t id, const char** text,
                                          size_t* size) {
  return trellis::c_api::StreamCall(stream, text, size,
                                    [id](trellis::DecodeStream& s) { return s.Step(id); });
}

trellis_status trellis_decode_stream_finish(trellis_decode_stream* stream, const char** text, size_t* size) {
  return trellis::c_api::StreamCall(stream, text, size, [](trellis::DecodeStream& s) { return s.Finish(); });
}

void trellis_decode_stream_reset(trellis_decode_stream* stream) {
  if (stream != nullptr) stream->stream.Reset();
}

void trellis_decode_stream_free(trellis_decode_stream* stream) { delete stream; }
