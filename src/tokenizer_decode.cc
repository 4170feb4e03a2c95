// Ids to text: which tokens count, the decoders, the clean-up of the result.
#include <variant>

#include "src/tokenizer_impl.h"
#include "trellis/internal/stage/clean_up.h"

namespace trellis {

using internal::CodeOnly;
using internal::DecodeResult;
using internal::TokenList;
using internal::TokenPlace;

void Tokenizer::Impl::BuildDecoders() {
  const auto* metaspace =
      spec_.decoders.size() == 1 ? std::get_if<MetaspaceDecoder>(&spec_.decoders.front()) : nullptr;
  if (metaspace != nullptr) {
    metaspace_.emplace(*metaspace);
  } else if (!spec_.decoders.empty()) {
    decoders_.emplace(spec_.decoders);
  }
}

absl::StatusOr<std::string_view> Tokenizer::Impl::Decode(std::span<const TokenId> ids, const DecodeOptions& options,
                                                         std::span<char> out) const {
  absl::StatusOr<std::string_view> text = DecodeTokens(ids, options, out);
  if (text.ok() && options.clean_up) {
    const std::span<char> written = out.first(text->size());
    return std::string_view(out.data(), internal::CleanUp(internal::CleanUpRules::kTransformers, written));
  }
  return text;
}

absl::StatusOr<std::string_view> Tokenizer::Impl::DecodeTokens(std::span<const TokenId> ids,
                                                               const DecodeOptions& options,
                                                               std::span<char> out) const {
  if (sentencepiece_) {
    using Controls = internal::SentencePiecePipeline::Controls;
    const auto text = sentencepiece_->Decode(
        ids, options.skip_special_tokens ? Controls::kLeaveOut : Controls::kSpellOut, out);
    if (!text) return CodeOnly(absl::StatusCode::kResourceExhausted);
    return *text;
  }
  internal::TextSink sink(out);
  TokenList list(out);
  TokenPlace place = TokenPlace::kFirst;
  for (const TokenId id : ids) {
    if (!LeavesText(id, options)) continue;
    const std::string_view text = vocab_.Text(id);
    const bool fits = decoders_    ? list.Put(text)
                      : metaspace_ ? metaspace_->Run(text, place, sink)
                                   : internal::RunJoin(text, place, sink);
    if (!fits) return CodeOnly(absl::StatusCode::kResourceExhausted);
    place = TokenPlace::kLater;
  }
  if (!decoders_) return sink.text();
  switch (decoders_->Run(list)) {
    case DecodeResult::kOk: return list.Join();
    case DecodeResult::kNoRoom: return CodeOnly(absl::StatusCode::kResourceExhausted);
    case DecodeResult::kOverstripped: break;
  }
  return CodeOnly(absl::StatusCode::kInvalidArgument);
}

size_t Tokenizer::Impl::DecodedBytes(std::span<const TokenId> ids) const {
  if (sentencepiece_) return sentencepiece_->DecodedBytes(ids);
  size_t bytes = 0;
  for (const TokenId id : ids) bytes += vocab_.Text(id).size();
  return decoders_ ? decoders_->ListBytes(bytes, ids.size()) : bytes + ids.size();  // a blank between, at most
}

}  // namespace trellis
