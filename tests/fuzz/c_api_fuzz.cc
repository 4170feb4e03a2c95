// Any calls of the C interface with any numbers in them: structs of other sizes, options that there are none
// of, columns with too little room, rows that nobody wrote. Memory is exactly as large as the call is told.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/random_spec.h"
#include "trellis/c_api.h"

namespace {

using trellis::reference::Choices;

void Require(bool holds) {
  if (!holds) std::abort();
}

char message[128];

// An error says something, and success nothing.
void Check(trellis_status status) { Require((status == TRELLIS_OK) == (message[0] == '\0')); }

// Mostly one of few, so that calls get somewhere.
uint32_t Number(Choices& choices) {
  const uint32_t number = choices.Below(8);
  if (number != 7) return number / 3;
  uint32_t any = 0;
  for (int i = 0; i < 4; ++i) any = any << 8 | choices.Below(256);
  return any;
}
size_t StructSize(Choices& choices, size_t size) {
  return choices.Once(16) ? Number(choices) % (size + 1) : size;
}

trellis_encode_options EncodeOptions(Choices& choices) {
  return {.struct_size = StructSize(choices, sizeof(trellis_encode_options)),
          .no_special_tokens = Number(choices),
          .shield = Number(choices),
          .truncate = Number(choices),
          .truncation_side = Number(choices),
          .max_length = Number(choices) * 3,
          .stride = Number(choices),
          .cut_nothing = Number(choices),
          .encode_special_tokens = Number(choices)};
}

// Columns of any kind with memory of their own.
class Room {
 public:
  explicit Room(Choices& choices) : capacity_(choices.Below(64)), rows_(choices.Below(8)) {
    ids_.resize(capacity_);
    offsets_.resize(capacity_);
    for (auto& bytes : bytes_) bytes.resize(capacity_);
    cu_seqlens_.resize(rows_);
    columns = {.struct_size = StructSize(choices, sizeof columns), .capacity = capacity_, .ids = ids_.data()};
    if (choices.Once(2)) columns.offsets = offsets_.data();
    if (choices.Once(2)) columns.type_ids = bytes_[0].data();
    if (choices.Once(2)) columns.special_tokens_mask = bytes_[1].data();
    if (choices.Once(2)) columns.attention_mask = bytes_[2].data();
    if (!choices.Once(3)) columns.cu_seqlens = cu_seqlens_.data();
    if (columns.cu_seqlens != nullptr) columns.cu_seqlens_capacity = rows_;
  }
  // What nobody wrote.
  void Scribble(Choices& choices) {
    columns.num_tokens = Number(choices);
    columns.num_rows = Number(choices);
    for (int32_t& end : cu_seqlens_) end = static_cast<int32_t>(Number(choices));
  }
  trellis_columns columns;

 private:
  size_t capacity_, rows_;
  std::vector<int32_t> ids_, cu_seqlens_;
  std::vector<trellis_offset> offsets_;
  std::vector<uint8_t> bytes_[3];
};

std::string Text(Choices& choices) { return trellis::reference::RandomSpec(choices).Text(6); }

void Encode(const trellis_tokenizer* tokenizer, trellis_scratch* scratch, Choices& choices) {
  const std::string texts[2] = {Text(choices), Text(choices)};
  std::vector<trellis_input> inputs(choices.Below(4));
  for (trellis_input& input : inputs) {
    input.text = {texts[0].data(), texts[0].size()};
    if (choices.Once(3)) input.pair = {texts[1].data(), texts[1].size()};
  }
  const trellis_encode_options options = EncodeOptions(choices);
  Room room(choices);
  if (choices.Once(2))
    Require(trellis_scratch_reserve(
                scratch, trellis_scratch_bytes(tokenizer, texts[0].size() + texts[1].size())) == TRELLIS_OK);
  switch (choices.Below(3)) {
    case 0:
      if (inputs.empty()) return;
      Check(trellis_encode(tokenizer, inputs.data(), &options, scratch, &room.columns, message,
                           sizeof message));
      break;
    case 1:
      Check(trellis_encode_batch(tokenizer, inputs.data(), inputs.size(), &options, scratch, &room.columns,
                                 message, sizeof message));
      break;
    default:
      if (inputs.empty()) return;
      Check(trellis_encode_windows(tokenizer, inputs.data(), &options, scratch, &room.columns, message,
                                   sizeof message));
  }
  if (room.columns.struct_size < sizeof room.columns) return;
  Require(room.columns.num_tokens <= room.columns.capacity);
  if (choices.Once(3)) room.Scribble(choices);
  const trellis_padding padding = {.struct_size = StructSize(choices, sizeof padding),
                                   .strategy = Number(choices),
                                   .side = Number(choices),
                                   .length = Number(choices),
                                   .multiple_of = Number(choices),
                                   .id = 1,
                                   .type_id = Number(choices)};
  Room padded(choices);
  size_t length, tokens;
  Check(trellis_padded_size(&room.columns, &padding, &length, &tokens, message, sizeof message));
  Check(trellis_pad(&room.columns, &padding, &padded.columns, message, sizeof message));
  if (room.columns.offsets == nullptr || room.columns.num_tokens > room.columns.capacity || inputs.empty())
    return;
  Check(trellis_offsets_to_code_points(&inputs[0].text, scratch, room.columns.offsets,
                                       room.columns.num_tokens, message, sizeof message));
}

void Decode(const trellis_tokenizer* tokenizer, Choices& choices) {
  std::vector<int32_t> ids(choices.Below(12));
  for (int32_t& id : ids)
    id = static_cast<int32_t>(choices.Once(8) ? Number(choices) : choices.Below(48)) - 1;
  const trellis_decode_options options = {StructSize(choices, sizeof options), Number(choices),
                                          Number(choices)};
  std::vector<char> text(choices.Once(2) ? trellis_decoded_bytes(tokenizer, ids.data(), ids.size())
                                         : choices.Below(40));
  size_t size = 0;
  Check(trellis_decode(tokenizer, ids.data(), ids.size(), &options, text.data(), text.size(), &size, message,
                       sizeof message));
  Require(size <= text.size());
  trellis_decode_stream* stream = nullptr;
  Check(trellis_decode_stream_create(tokenizer, &options, &stream, message, sizeof message));
  const char* part;
  for (const int32_t id : ids) (void)trellis_decode_stream_step(stream, id, &part, &size);
  (void)trellis_decode_stream_finish(stream, &part, &size);
  trellis_decode_stream_free(stream);
}

void Load(const trellis_tokenizer* tokenizer, Choices& choices) {
  const trellis_load_options options = {StructSize(choices, sizeof options), Number(choices), Number(choices),
                                        Number(choices), 0};
  const std::string content = Text(choices);
  const trellis_added_token token = {content.data(), content.size(), Number(choices)};
  trellis_tokenizer* made = nullptr;
  const trellis_status status =
      choices.Once(2) ? trellis_tokenizer_add_tokens(tokenizer, &token, 1, &made, message, sizeof message)
                      : trellis_tokenizer_parse(choices.rest().data(), choices.rest().size(), Number(choices),
                                                &options, &made, message, sizeof message);
  Check(status);
  Require((status == TRELLIS_OK) == (made != nullptr));
  trellis_tokenizer_free(made);
}

void OtherWays(const trellis_tokenizer* tokenizer, Choices& choices) {
  const std::string content = Text(choices);
  const trellis_text text = {content.data(), content.size()};
  Room room(choices);
  std::vector<float> scores(choices.Below(8));
  if (choices.Once(2)) {
    Check(trellis_encode_nbest(tokenizer, &text, choices.Below(40), &room.columns, scores.data(),
                               scores.size(), message, sizeof message));
  } else {
    trellis_random* random = nullptr;
    Require(trellis_random_create(Number(choices), &random) == TRELLIS_OK);
    const auto size = static_cast<int32_t>(choices.Below(24)) - 4;
    float score;
    Check(trellis_encode_sample(tokenizer, &text, size, 0.25F * static_cast<float>(choices.Below(8)), random,
                                &room.columns, &score, message, sizeof message));
    trellis_random_free(random);
  }
  if (room.columns.struct_size >= sizeof room.columns)
    Require(room.columns.num_tokens <= room.columns.capacity);
}

trellis_tokenizer* Loaded(const char* path) {
  trellis_tokenizer* loaded = nullptr;
  Require(trellis_tokenizer_load(path, nullptr, &loaded, nullptr, 0) == TRELLIS_OK);
  return loaded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static trellis_tokenizer* const tokenizer = Loaded(TRELLIS_SOURCE_DIR "/tests/cli/tiny.json");
  static trellis_tokenizer* const summed = Loaded(TRELLIS_SOURCE_DIR "/tests/golden/sp_models/ties.model");
  if (size > 1024) return 0;
  Choices choices(std::string_view(reinterpret_cast<const char*>(data), size));
  trellis_scratch* scratch = nullptr;
  Require(trellis_scratch_create(&scratch) == TRELLIS_OK);
  for (int calls = 0; calls < 6 && !choices.rest().empty(); ++calls) {
    switch (choices.Below(5)) {
      case 0:
        Decode(tokenizer, choices);
        break;
      case 1:
        Load(tokenizer, choices);
        break;
      case 4:
        OtherWays(choices.Once(4) ? tokenizer : summed, choices);
        break;
      default:
        Encode(tokenizer, scratch, choices);
    }
  }
  trellis_scratch_free(scratch);
  return 0;
}
