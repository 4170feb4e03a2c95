/* NULL, impossible sizes, unknown options and structs of other versions: an error with a place, never a
 * crash. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/c_api/expect.h"
#include "trellis/c_api.h"

static char why[512];
static int32_t ids[8];
static trellis_scratch* scratch;
static trellis_tokenizer* tokenizer;
static const trellis_input kHello = {.text = {"hello", 5}};
static const trellis_columns kColumns = {.struct_size = sizeof kColumns, .capacity = 8, .ids = ids};

#define REFUSED(words, call) EXPECT_ERROR(TRELLIS_INVALID_ARGUMENT, words, call, why)
#define WHY why, sizeof why

static void Loading(const char* path) {
  trellis_tokenizer* out = (trellis_tokenizer*)&ids; /* must be cleared */
  REFUSED("tokenizer: NULL", trellis_tokenizer_load(path, NULL, NULL, WHY));
  REFUSED("path: NULL", trellis_tokenizer_load(NULL, NULL, &out, WHY));
  EXPECT(out == NULL);
  EXPECT_ERROR(TRELLIS_NOT_FOUND,
               "nowhere/at/all: ", trellis_tokenizer_load("nowhere/at/all", NULL, &out, WHY), why);
  EXPECT(trellis_tokenizer_load("nowhere", NULL, &out, NULL, 0) == TRELLIS_NOT_FOUND);
  REFUSED("bytes: NULL", trellis_tokenizer_parse(NULL, 5, TRELLIS_TOKENIZER_JSON, NULL, &out, WHY));
  REFUSED("bytes: NULL or an impossible size",
          trellis_tokenizer_parse("{}", SIZE_MAX, TRELLIS_TOKENIZER_JSON, NULL, &out, WHY));
  REFUSED("format: 2, expected 0 to 1", trellis_tokenizer_parse("{}", 2, 2, NULL, &out, WHY));
  REFUSED("tokenizer: NULL", trellis_tokenizer_parse("{}", 2, 0, NULL, NULL, WHY));
  const trellis_load_options odd = {.struct_size = sizeof odd, .fairseq = 2};
  REFUSED("options.fairseq: 2, expected 0 to 1", trellis_tokenizer_load(path, &odd, &out, WHY));
  const trellis_load_options reserved = {.struct_size = sizeof odd, .reserved = 1};
  REFUSED("options.reserved: 1, expected 0", trellis_tokenizer_load(path, &reserved, &out, WHY));

  const trellis_added_token no_content = {NULL, 3, 0}, odd_flags = {"a", 1, 64}, malformed = {"\xFF", 1, 0},
                            huge = {"a", SIZE_MAX, 0};
  REFUSED("tokenizer: NULL", trellis_tokenizer_add_tokens(NULL, NULL, 0, &out, WHY));
  REFUSED("tokens: NULL", trellis_tokenizer_add_tokens(tokenizer, NULL, 1, &out, WHY));
  REFUSED("impossible count", trellis_tokenizer_add_tokens(tokenizer, &no_content, SIZE_MAX, &out, WHY));
  REFUSED("tokens[0].content: NULL", trellis_tokenizer_add_tokens(tokenizer, &no_content, 1, &out, WHY));
  REFUSED("tokens[0].content: NULL or an impossible size",
          trellis_tokenizer_add_tokens(tokenizer, &huge, 1, &out, WHY));
  REFUSED("tokens[0].flags: 64", trellis_tokenizer_add_tokens(tokenizer, &odd_flags, 1, &out, WHY));
  REFUSED(".content: ", trellis_tokenizer_add_tokens(tokenizer, &malformed, 1, &out, WHY));
  REFUSED("with_tokens: NULL", trellis_tokenizer_add_tokens(tokenizer, NULL, 0, NULL, WHY));
  EXPECT(out == NULL);
}

/* A message is cut where it does not fit, never inside a character, and always ended. */
static void Messages(void) {
  trellis_tokenizer* out;
  char whole[512], part[512];
  const char* path = "\xE6\x97\xA5\xE6\x9C\xAC/\xC3\xB6";
  EXPECT(trellis_tokenizer_load(path, NULL, &out, whole, sizeof whole) == TRELLIS_NOT_FOUND);
  for (size_t size = 1; size <= strlen(whole) + 1; ++size) {
    memset(part, '#', sizeof part);
    EXPECT(trellis_tokenizer_load(path, NULL, &out, part, size) == TRELLIS_NOT_FOUND);
    const size_t length = strlen(part);
    EXPECT(length < size && length + 3 >= size && memcmp(part, whole, length) == 0 && part[size] == '#');
    EXPECT(((unsigned char)whole[length] & 0xC0) != 0x80);
  }
  EXPECT(trellis_tokenizer_load(path, NULL, &out, part, 0) == TRELLIS_NOT_FOUND);
  EXPECT(strcmp(trellis_status_name(TRELLIS_DATA_LOSS), "DATA_LOSS") == 0 &&
         strcmp(trellis_status_name(-1), "UNKNOWN") == 0);
}

static void Encoding(void) {
  trellis_columns columns = kColumns;
  REFUSED("tokenizer: NULL", trellis_encode(NULL, &kHello, NULL, scratch, &columns, WHY));
  REFUSED("input: NULL", trellis_encode(tokenizer, NULL, NULL, scratch, &columns, WHY));
  REFUSED("scratch: NULL", trellis_encode(tokenizer, &kHello, NULL, NULL, &columns, WHY));
  REFUSED("columns: NULL", trellis_encode(tokenizer, &kHello, NULL, scratch, NULL, WHY));
  const trellis_input no_bytes = {.text = {NULL, 1}}, no_pair = {.text = {"a", 1}, .pair = {NULL, 1}},
                      huge = {.text = {"a", SIZE_MAX}};
  REFUSED("inputs[0]: bytes NULL", trellis_encode(tokenizer, &no_bytes, NULL, scratch, &columns, WHY));
  REFUSED("inputs[0]: bytes NULL", trellis_encode(tokenizer, &no_pair, NULL, scratch, &columns, WHY));
  REFUSED("impossible size", trellis_encode(tokenizer, &huge, NULL, scratch, &columns, WHY));
  REFUSED("input: bytes NULL", trellis_encode_windows(tokenizer, &no_bytes, NULL, scratch, &columns, WHY));
  REFUSED("inputs: NULL", trellis_encode_batch(tokenizer, NULL, 1, NULL, scratch, &columns, WHY));
  REFUSED("impossible count",
          trellis_encode_batch(tokenizer, &kHello, SIZE_MAX, NULL, scratch, &columns, WHY));
  REFUSED("columns.cu_seqlens: NULL or room for 0 numbers, expected 2",
          trellis_encode_batch(tokenizer, &kHello, 1, NULL, scratch, &columns, WHY));
  columns.ids = NULL;
  REFUSED("columns.ids: NULL, expected room for 8",
          trellis_encode(tokenizer, &kHello, NULL, scratch, &columns, WHY));
  columns = kColumns;
  columns.capacity = SIZE_MAX;
  REFUSED("columns.capacity", trellis_encode(tokenizer, &kHello, NULL, scratch, &columns, WHY));
  columns = kColumns;
  columns.capacity = 2; /* <s> and half of it */
  EXPECT_ERROR(TRELLIS_RESOURCE_EXHAUSTED, "inputs[0]: no room in scratch",
               trellis_encode(tokenizer, &kHello, NULL, scratch, &columns, WHY), why);
  EXPECT(columns.num_tokens == 0 && columns.num_rows == 0);
  columns = kColumns;
  const trellis_encode_options truncate = {.struct_size = sizeof truncate, .truncate = 4},
                               side = {.struct_size = sizeof side, .truncation_side = 2},
                               shield = {.struct_size = sizeof shield, .shield = 2},
                               second = {.struct_size = sizeof second,
                                         .truncate = TRELLIS_TRUNCATE_ONLY_SECOND,
                                         .max_length = 3};
  const trellis_input two = {.text = {"hello world", 11}};
  REFUSED("options.truncate: 4, expected 0 to 3",
          trellis_encode(tokenizer, &kHello, &truncate, scratch, &columns, WHY));
  REFUSED("options.truncation_side: 2", trellis_encode(tokenizer, &kHello, &side, scratch, &columns, WHY));
  REFUSED("options.shield: 2", trellis_encode(tokenizer, &kHello, &shield, scratch, &columns, WHY));
  REFUSED("the text that is to be cut", trellis_encode(tokenizer, &two, &second, scratch, &columns, WHY));

  trellis_scratch* empty = NULL;
  EXPECT_OK(trellis_scratch_create(&empty), "scratch");
  EXPECT_ERROR(TRELLIS_RESOURCE_EXHAUSTED, "scratch (0 bytes)",
               trellis_encode(tokenizer, &kHello, NULL, empty, &columns, WHY), why);
  EXPECT(trellis_scratch_high_water(empty) > 0);
  EXPECT(trellis_scratch_reserve(empty, SIZE_MAX) == TRELLIS_RESOURCE_EXHAUSTED);
  trellis_scratch_free(empty);
}

static void Offsets(void) {
  trellis_offset offsets[1] = {{0, 6}};
  REFUSED("text: NULL", trellis_offsets_to_code_points(NULL, scratch, offsets, 1, WHY));
  REFUSED("scratch: NULL", trellis_offsets_to_code_points(&kHello.text, NULL, offsets, 1, WHY));
  REFUSED("offsets: NULL", trellis_offsets_to_code_points(&kHello.text, scratch, NULL, 1, WHY));
  REFUSED("offsets[0]: 0 to 6, expected a range of a text of 5 bytes",
          trellis_offsets_to_code_points(&kHello.text, scratch, offsets, 1, WHY));
  offsets[0].begin = 3;
  offsets[0].end = 2;
  REFUSED("offsets[0]: 3 to 2", trellis_offsets_to_code_points(&kHello.text, scratch, offsets, 1, WHY));
}

/* Rows that no encode call wrote are not read where they point. */
static void Padding(void) {
  int32_t cu_seqlens[3] = {0, 2, 4}, out_ids[16];
  trellis_columns rows = kColumns, out = {.struct_size = sizeof out, .capacity = 16, .ids = out_ids};
  rows.cu_seqlens = cu_seqlens;
  rows.cu_seqlens_capacity = 3;
  rows.num_rows = 2;
  rows.num_tokens = 4;
  EXPECT_OK(trellis_pad(&rows, NULL, &out, WHY), why);
  static const int32_t kBad[][3] = {{0, 5, 4}, {0, -1, 4},         {1, 2, 4},
                                    {0, 2, 3}, {0, 2, 2147483647}, {-2147483647, 2, 4}};
  for (size_t i = 0; i < sizeof kBad / sizeof kBad[0]; ++i) {
    memcpy(cu_seqlens, kBad[i], sizeof cu_seqlens);
    REFUSED("rows: 2 rows of 4 tokens", trellis_pad(&rows, NULL, &out, WHY));
  }
  memcpy(cu_seqlens, (const int32_t[]){0, 2, 4}, sizeof cu_seqlens);
  rows.num_tokens = 9; /* above the capacity */
  REFUSED("rows: ", trellis_pad(&rows, NULL, &out, WHY));
  rows.num_tokens = 4;
  rows.num_rows = SIZE_MAX;
  REFUSED("rows: ", trellis_pad(&rows, NULL, &out, WHY));
  rows.num_rows = 2;
  size_t length, tokens;
  const trellis_padding huge = {.struct_size = sizeof huge,
                                .strategy = TRELLIS_PAD_FIXED,
                                .length = SIZE_MAX,
                                .multiple_of = 7},
                        type = {.struct_size = sizeof type, .type_id = 256};
  EXPECT_ERROR(TRELLIS_RESOURCE_EXHAUSTED, "padding: 2 rows",
               trellis_padded_size(&rows, &huge, &length, &tokens, WHY), why);
  REFUSED("padding.type_id: 256, expected 0 to 255", trellis_pad(&rows, &type, &out, WHY));
  REFUSED("length, tokens: NULL", trellis_padded_size(&rows, NULL, NULL, NULL, WHY));
  uint8_t type_ids[16];
  out.type_ids = type_ids; /* which rows do not have */
  REFUSED("padded: a column that rows does not have", trellis_pad(&rows, NULL, &out, WHY));
  REFUSED("rows: NULL", trellis_pad(NULL, NULL, &out, WHY));
  REFUSED("padded: NULL", trellis_pad(&rows, NULL, NULL, WHY));
}

static void Decoding(void) {
  char text[16];
  const char* part;
  size_t size = 7;
  trellis_decode_stream* stream = NULL;
  REFUSED("size: NULL", trellis_decode(tokenizer, ids, 1, NULL, text, 16, NULL, WHY));
  REFUSED("tokenizer: NULL", trellis_decode(NULL, ids, 1, NULL, text, 16, &size, WHY));
  EXPECT(size == 0);
  REFUSED("ids: NULL", trellis_decode(tokenizer, NULL, 1, NULL, text, 16, &size, WHY));
  REFUSED("impossible count", trellis_decode(tokenizer, ids, SIZE_MAX, NULL, text, 16, &size, WHY));
  REFUSED("text: NULL", trellis_decode(tokenizer, ids, 1, NULL, NULL, 16, &size, WHY));
  EXPECT_OK(trellis_decode(tokenizer, NULL, 0, NULL, NULL, 0, &size, WHY), why);
  const trellis_decode_options odd = {.struct_size = sizeof odd, .clean_up = 3};
  REFUSED("options.clean_up: 3", trellis_decode(tokenizer, ids, 1, &odd, text, 16, &size, WHY));
  REFUSED("options.clean_up: 3", trellis_decode_stream_create(tokenizer, &odd, &stream, WHY));
  REFUSED("tokenizer: NULL", trellis_decode_stream_create(NULL, NULL, &stream, WHY));
  REFUSED("stream: NULL", trellis_decode_stream_create(tokenizer, NULL, NULL, WHY));
  EXPECT(stream == NULL);
  EXPECT(trellis_decode_stream_step(NULL, 1, &part, &size) == TRELLIS_INVALID_ARGUMENT && size == 0 &&
         part[0] == '\0');
  EXPECT(trellis_decode_stream_finish(NULL, &part, &size) == TRELLIS_INVALID_ARGUMENT);
  EXPECT_OK(trellis_decode_stream_create(tokenizer, NULL, &stream, WHY), why);
  EXPECT(trellis_decode_stream_step(stream, 5, NULL, &size) == TRELLIS_INVALID_ARGUMENT);
  EXPECT_OK(trellis_decode_stream_step(stream, INT32_MIN, &part, &size), "an id of nothing");
  EXPECT_OK(trellis_decode_stream_step(stream, INT32_MAX, &part, &size), "an id of nothing");
  trellis_decode_stream_free(stream);
}

/* A struct of a later version, and what is none. */
static void Versions(void) {
  struct {
    trellis_encode_options options;
    uint64_t later;
  } later = {.options = {.struct_size = sizeof later, .no_special_tokens = 1}};
  trellis_columns columns = kColumns;
  EXPECT_OK(trellis_encode(tokenizer, &kHello, &later.options, scratch, &columns, WHY), why);
  EXPECT(columns.num_tokens == 1 && ids[0] == 5);
  later.later = 1;
  REFUSED("options.struct_size: 56, with a field set at byte 48",
          trellis_encode(tokenizer, &kHello, &later.options, scratch, &columns, WHY));
  trellis_encode_options options = {.struct_size = 8};
  REFUSED("options.struct_size: 8, expected at least",
          trellis_encode(tokenizer, &kHello, &options, scratch, &columns, WHY));
  options.struct_size = SIZE_MAX;
  REFUSED("options.struct_size: ", trellis_encode(tokenizer, &kHello, &options, scratch, &columns, WHY));
  columns.struct_size = 0;
  REFUSED("columns.struct_size: 0, expected at least",
          trellis_encode(tokenizer, &kHello, NULL, scratch, &columns, WHY));
}

static void NothingAtAll(void) {
  size_t size;
  EXPECT(trellis_scratch_create(NULL) == TRELLIS_INVALID_ARGUMENT &&
         trellis_scratch_reserve(NULL, 1) == TRELLIS_INVALID_ARGUMENT);
  EXPECT(trellis_scratch_capacity(NULL) == 0 && trellis_scratch_high_water(NULL) == 0);
  EXPECT(trellis_scratch_bytes(NULL, 1) == 0 && trellis_max_tokens(NULL, 1) == 0 &&
         trellis_decoded_bytes(NULL, ids, 1) == 0);
  EXPECT(trellis_vocab_size(NULL) == 0 && trellis_vocab_text(NULL, 1, &size) == NULL &&
         trellis_vocab_text(tokenizer, 1, NULL) != NULL);
  EXPECT(trellis_vocab_find(NULL, "a", 1) == TRELLIS_NO_ID &&
         trellis_vocab_find(tokenizer, NULL, 1) == TRELLIS_NO_ID);
  EXPECT(trellis_vocab_score(NULL, 1) == 0 && trellis_vocab_is_special(NULL, 1) == 0 &&
         trellis_vocab_unk(NULL) == TRELLIS_NO_ID);
  EXPECT(trellis_file_truncation(NULL, NULL) == 0 && trellis_file_truncation(tokenizer, NULL) == 0 &&
         trellis_file_padding(NULL, NULL) == 0);
  trellis_scratch_clear(NULL);
  trellis_scratch_free(NULL);
  trellis_tokenizer_free(NULL);
  trellis_decode_stream_reset(NULL);
  trellis_decode_stream_free(NULL);
  trellis_random_free(NULL);
}

static void OtherWays(void) {
  const trellis_text text = kHello.text, no_bytes = {NULL, 3};
  int32_t rows[2];
  float scores[1];
  trellis_random* random = NULL;
  EXPECT(trellis_random_create(1, NULL) == TRELLIS_INVALID_ARGUMENT);
  EXPECT_OK(trellis_random_create(1, &random), "random");
  trellis_columns columns = kColumns;
  REFUSED("columns.cu_seqlens: NULL", trellis_encode_nbest(tokenizer, &text, 2, &columns, NULL, 0, WHY));
  columns.cu_seqlens = rows;
  columns.cu_seqlens_capacity = 2;
  REFUSED("tokenizer: NULL", trellis_encode_nbest(NULL, &text, 2, &columns, NULL, 0, WHY));
  REFUSED("text: NULL", trellis_encode_nbest(tokenizer, NULL, 2, &columns, NULL, 0, WHY));
  REFUSED("text: NULL", trellis_encode_nbest(tokenizer, &no_bytes, 2, &columns, NULL, 0, WHY));
  REFUSED("columns: NULL", trellis_encode_nbest(tokenizer, &text, 2, NULL, scores, 1, WHY));
  REFUSED("random: NULL", trellis_encode_sample(tokenizer, &text, -1, 0.1F, NULL, &columns, scores, WHY));
  REFUSED("text: NULL", trellis_encode_sample(tokenizer, NULL, -1, 0.1F, random, &columns, NULL, WHY));
  /* This tokenizer is a tokenizer.json's. */
  EXPECT_ERROR(TRELLIS_UNIMPLEMENTED,
               "dialect: ", trellis_encode_nbest(tokenizer, &text, 2, &columns, scores, 1, WHY), why);
  EXPECT_ERROR(TRELLIS_UNIMPLEMENTED,
               "dialect: ", trellis_encode_sample(tokenizer, &text, -1, 0.1F, random, &columns, scores, WHY),
               why);
  REFUSED("nbest_size: 513", trellis_encode_sample(tokenizer, &text, 513, 0.1F, random, &columns, NULL, WHY));
  trellis_random_free(random);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  EXPECT_OK(trellis_tokenizer_load(argv[1], NULL, &tokenizer, WHY), why);
  EXPECT_OK(trellis_scratch_create(&scratch), "scratch");
  EXPECT_OK(trellis_scratch_reserve(scratch, trellis_scratch_bytes(tokenizer, 100)), "reserve");
  if (expect_failures != 0) return 1;
  Loading(argv[1]);
  Messages();
  Encoding();
  Offsets();
  Padding();
  Decoding();
  Versions();
  NothingAtAll();
  OtherWays();
  trellis_scratch_free(scratch);
  trellis_tokenizer_free(tokenizer);
  if (expect_failures == 0) puts("bad_arguments_test: passed");
  return expect_failures != 0;
}
