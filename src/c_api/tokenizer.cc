// Loading, added tokens and the vocabulary.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/c_api/handles.h"
#include "src/c_api/report.h"
#include "src/c_api/versioned.h"
#include "trellis/c_api.h"
#include "trellis/load.h"
#include "trellis/version.h"

namespace trellis::c_api {
namespace {

// A status without words when the options are sound.
trellis_status ReadLoadOptions(const trellis_load_options* from, const Report& report, LoadOptions& out) {
  const auto options = ReadOptions(from, "options", report);
  if (!options) return TRELLIS_INVALID_ARGUMENT;
  if (!FieldsFit({{"options.fairseq", options->fairseq, 1},
                  {"options.no_shortcuts", options->no_shortcuts, 1},
                  {"options.huge_pages", options->huge_pages, 1},
                  {"options.reserved", options->reserved, 0}},
                 report)) {
    return TRELLIS_INVALID_ARGUMENT;
  }
  out.sentencepiece.fairseq = options->fairseq != 0;
  out.tokenizer.shortcuts = options->no_shortcuts == 0;
  out.tokenizer.huge_pages = options->huge_pages != 0;
  return TRELLIS_OK;
}

trellis_status Give(absl::StatusOr<Tokenizer> tokenizer, const TokenizerOptions& options,
                    const Report& report, trellis_tokenizer** out) {
  if (!tokenizer.ok()) return report.From(tokenizer.status());
  *out = new trellis_tokenizer{*std::move(tokenizer), options};
  return TRELLIS_OK;
}

absl::StatusOr<Tokenizer> Parse(std::string_view bytes, uint32_t format, const LoadOptions& options) {
  absl::StatusOr<TokenizerSpec> spec = format == TRELLIS_TOKENIZER_JSON
                                           ? ParseTokenizerJson(bytes)
                                           : ParseSentencePieceModel(bytes, options.sentencepiece);
  if (!spec.ok()) return spec.status();
  return Tokenizer::Create(*std::move(spec), options.tokenizer);
}

// The tokens as the library has them; false: said in `report`.
bool ReadTokens(const trellis_added_token* tokens, size_t count, const Report& report,
                std::vector<AddedToken>& out) {
  constexpr uint32_t kAll = TRELLIS_TOKEN_SPECIAL | TRELLIS_TOKEN_SINGLE_WORD | TRELLIS_TOKEN_LSTRIP |
                            TRELLIS_TOKEN_RSTRIP | TRELLIS_TOKEN_NORMALIZED;
  for (size_t i = 0; i < count; ++i) {
    const trellis_added_token& token = tokens[i];
    const auto has = [&token](uint32_t flag) { return (token.flags & flag) != 0; };
    if (token.content == nullptr || token.content_size > PTRDIFF_MAX) {
      report.Failf(TRELLIS_INVALID_ARGUMENT,
                   "tokens[%zu].content: NULL or an impossible size, expected a string", i);
      return false;
    }
    if ((token.flags & ~kAll) != 0) {
      report.Failf(TRELLIS_INVALID_ARGUMENT, "tokens[%zu].flags: %lu, expected flags of %lu", i,
                   static_cast<unsigned long>(token.flags), static_cast<unsigned long>(kAll));
      return false;
    }
    out.push_back({.content = std::string(token.content, token.content_size),
                   .single_word = has(TRELLIS_TOKEN_SINGLE_WORD),
                   .lstrip = has(TRELLIS_TOKEN_LSTRIP),
                   .rstrip = has(TRELLIS_TOKEN_RSTRIP),
                   .normalized = has(TRELLIS_TOKEN_NORMALIZED),
                   .special = has(TRELLIS_TOKEN_SPECIAL)});
  }
  return true;
}

}  // namespace
}  // namespace trellis::c_api

using trellis::c_api::Guarded;
using trellis::c_api::Report;

uint32_t trellis_c_abi(void) { return TRELLIS_C_ABI; }
const char* trellis_version(void) { return trellis::Version(); }

const char* trellis_status_name(trellis_status status) {
  switch (status) {
    case TRELLIS_OK:
      return "OK";
    case TRELLIS_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case TRELLIS_NOT_FOUND:
      return "NOT_FOUND";
    case TRELLIS_PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case TRELLIS_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case TRELLIS_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case TRELLIS_UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case TRELLIS_INTERNAL:
      return "INTERNAL";
    case TRELLIS_DATA_LOSS:
      return "DATA_LOSS";
    default:
      return "UNKNOWN";
  }
}

trellis_status trellis_tokenizer_load(const char* path, const trellis_load_options* options,
                                      trellis_tokenizer** tokenizer, char* message, size_t message_size) {
  const Report report(message, message_size);
  if (tokenizer == nullptr) return report.Invalid("tokenizer: NULL, expected where to put it");
  *tokenizer = nullptr;
  if (path == nullptr) return report.Invalid("path: NULL, expected a file or a folder");
  return Guarded(report, [&] {
    trellis::LoadOptions load;
    if (const trellis_status s = trellis::c_api::ReadLoadOptions(options, report, load); s != TRELLIS_OK)
      return s;
    return trellis::c_api::Give(trellis::LoadTokenizer(path, load), load.tokenizer, report, tokenizer);
  });
}

trellis_status trellis_tokenizer_parse(const void* bytes, size_t size, uint32_t format,
                                       const trellis_load_options* options, trellis_tokenizer** tokenizer,
                                       char* message, size_t message_size) {
  const Report report(message, message_size);
  if (tokenizer == nullptr) return report.Invalid("tokenizer: NULL, expected where to put it");
  *tokenizer = nullptr;
  if (bytes == nullptr || size > PTRDIFF_MAX)
    return report.Invalid("bytes: NULL or an impossible size, expected a file's");
  if (!trellis::c_api::FieldsFit({{"format", format, TRELLIS_SENTENCEPIECE_MODEL}}, report))
    return TRELLIS_INVALID_ARGUMENT;
  return Guarded(report, [&] {
    trellis::LoadOptions load;
    if (const trellis_status s = trellis::c_api::ReadLoadOptions(options, report, load); s != TRELLIS_OK)
      return s;
    const std::string_view file(static_cast<const char*>(bytes), size);
    return trellis::c_api::Give(trellis::c_api::Parse(file, format, load), load.tokenizer, report, tokenizer);
  });
}

trellis_status trellis_tokenizer_add_tokens(const trellis_tokenizer* tokenizer,
                                            const trellis_added_token* tokens, size_t count,
                                            trellis_tokenizer** with_tokens, char* message,
                                            size_t message_size) {
  const Report report(message, message_size);
  if (with_tokens == nullptr) return report.Invalid("with_tokens: NULL, expected where to put it");
  *with_tokens = nullptr;
  if (tokenizer == nullptr) return report.Invalid("tokenizer: NULL, expected a tokenizer");
  if ((tokens == nullptr && count != 0) || count > PTRDIFF_MAX / sizeof(trellis_added_token)) {
    return report.Invalid("tokens: NULL or an impossible count, expected an array");
  }
  return Guarded(report, [&]() -> trellis_status {
    std::vector<trellis::AddedToken> added;
    if (!trellis::c_api::ReadTokens(tokens, count, report, added)) return TRELLIS_INVALID_ARGUMENT;
    trellis::TokenizerSpec spec = tokenizer->tokenizer.spec();
    trellis::AddTokens(added, spec);
    return trellis::c_api::Give(trellis::Tokenizer::Create(std::move(spec), tokenizer->options),
                                tokenizer->options, report, with_tokens);
  });
}

void trellis_tokenizer_free(trellis_tokenizer* tokenizer) { delete tokenizer; }

int32_t trellis_vocab_size(const trellis_tokenizer* tokenizer) {
  return tokenizer == nullptr ? 0 : tokenizer->tokenizer.vocab().size();
}

const char* trellis_vocab_text(const trellis_tokenizer* tokenizer, int32_t id, size_t* size) {
  const std::string_view text =
      tokenizer == nullptr ? std::string_view() : tokenizer->tokenizer.vocab().Text(id);
  if (size != nullptr) *size = text.size();
  return text.empty() ? nullptr : text.data();
}

int32_t trellis_vocab_find(const trellis_tokenizer* tokenizer, const char* text, size_t size) {
  if (tokenizer == nullptr || text == nullptr || size > PTRDIFF_MAX) return TRELLIS_NO_ID;
  int32_t id = TRELLIS_NO_ID;
  Guarded(Report(nullptr, 0), [&] {
    id = tokenizer->tokenizer.vocab().Find({text, size}).value_or(TRELLIS_NO_ID);
    return TRELLIS_OK;
  });
  return id;
}

double trellis_vocab_score(const trellis_tokenizer* tokenizer, int32_t id) {
  return tokenizer == nullptr ? 0.0 : tokenizer->tokenizer.vocab().Score(id);
}

int32_t trellis_vocab_is_special(const trellis_tokenizer* tokenizer, int32_t id) {
  return tokenizer != nullptr && tokenizer->tokenizer.vocab().IsSpecial(id) ? 1 : 0;
}

int32_t trellis_vocab_unk(const trellis_tokenizer* tokenizer) {
  return tokenizer == nullptr ? TRELLIS_NO_ID : tokenizer->tokenizer.vocab().unk_id().value_or(TRELLIS_NO_ID);
}
