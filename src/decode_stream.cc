#include "trellis/decode_stream.h"

#include <algorithm>

#include "absl/status/status.h"
#include "src/tokenizer_impl.h"
#include "trellis/growing_scratch.h"
#include "trellis/internal/text/meta_space.h"

namespace trellis {

using internal::CodeOnly;
using internal::kReplacementUtf8;

namespace {

constexpr size_t kUsualBytes = 32;  // of a token, memory to work in included

}  // namespace

DecodeStream::DecodeStream(const Tokenizer& tokenizer, const DecodeOptions& options, size_t kept_ids)
    : tokenizer_(tokenizer), options_(options) {
  ids_.reserve(kept_ids);
  prefix_.memory.resize(kept_ids * kUsualBytes);
  text_.memory.resize(kept_ids * kUsualBytes);
}

absl::Status DecodeStream::DecodeInto(Text& text) {
  const absl::StatusOr<std::string_view> decoded = DecodeGrowing(tokenizer_, ids_, options_, text.memory);
  if (!decoded.ok()) return decoded.status();
  text.size = decoded->size();
  return absl::OkStatus();
}

absl::Status DecodeStream::SetPrefix() {
  if (prefix_.size != 0 || ids_.empty()) return absl::OkStatus();
  if (absl::Status status = DecodeInto(prefix_); !status.ok()) return status;
  if (prefix_.view().ends_with(kReplacementUtf8)) {
    prefix_.size = 0;
  } else {
    prefix_ids_ = ids_.size();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> DecodeStream::Rest() const {
  if (text_.size <= prefix_.size) return std::string_view();
  if (!text_.view().starts_with(prefix_.view())) return CodeOnly(absl::StatusCode::kFailedPrecondition);
  return text_.view().substr(prefix_.size);
}

absl::StatusOr<std::string_view> DecodeStream::Step(TokenId id) {
  if (!tokenizer_.impl().LeavesText(id, options_)) {
    if (broken_) return CodeOnly(absl::StatusCode::kFailedPrecondition);
    return std::string_view();
  }
  if (absl::Status status = SetPrefix(); !status.ok()) return status;
  ids_.push_back(id);
  if (absl::Status status = DecodeInto(text_); !status.ok()) return status;
  broken_ = false;
  if (text_.view().ends_with(kReplacementUtf8)) return std::string_view();
  const absl::StatusOr<std::string_view> rest = Rest();
  broken_ = !rest.ok();
  if (!rest.ok() || rest->empty()) return rest;
  // The ids before the prefix are done with; those since are the next prefix.
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(prefix_ids_));
  prefix_ids_ = ids_.size();
  if (absl::Status status = DecodeInto(prefix_); !status.ok()) return status;
  return rest;
}

absl::StatusOr<std::string_view> DecodeStream::Finish() {
  const absl::Status status = DecodeInto(text_);
  absl::StatusOr<std::string_view> rest = status.ok() ? Rest() : absl::StatusOr<std::string_view>(status);
  Reset();
  return rest;
}

void DecodeStream::Reset() {
  ids_.clear();
  prefix_ids_ = 0;
  prefix_.size = 0;
  broken_ = false;
}

}  // namespace trellis
