/* The C interface does what it says, from C11. Expected values are the reference's, of
 * tests/cli/expected.jsonl (tokenizers 0.22.2), or follow from the header's words. The model is
 * tests/cli/tiny.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/c_api/expect.h"
#include "trellis/c_api.h"

enum { kRoom = 256 };

static char why[512];
static int32_t ids[kRoom], cu_seqlens[kRoom];
static trellis_offset offsets[kRoom];
static uint8_t type_ids[kRoom], special[kRoom], attention[kRoom];

static trellis_columns Columns(void) {
  trellis_columns columns = {.struct_size = sizeof columns,
                             .capacity = kRoom,
                             .ids = ids,
                             .offsets = offsets,
                             .type_ids = type_ids,
                             .special_tokens_mask = special,
                             .attention_mask = attention,
                             .cu_seqlens = cu_seqlens,
                             .cu_seqlens_capacity = kRoom};
  return columns;
}

static trellis_input Text(const char* text) {
  const trellis_input input = {.text = {text, strlen(text)}};
  return input;
}

static int SameIds(const int32_t* got, size_t count, const int32_t* want, size_t want_count) {
  return count == want_count && memcmp(got, want, count * sizeof *got) == 0;
}
#define SAME_IDS(got, count, ...)                     \
  SameIds(got, count, (const int32_t[]){__VA_ARGS__}, \
          sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static int SameText(const char* got, size_t size, const char* want) {
  return size == strlen(want) && memcmp(got, want, size) == 0;
}

static void Encodes(const trellis_tokenizer* tokenizer, trellis_scratch* scratch) {
  trellis_columns columns = Columns();
  const trellis_input accents = Text("h\xC3\xA9llo w\xC3\xB6rld");
  EXPECT_OK(trellis_encode(tokenizer, &accents, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 15, 21, 19, 37, 38, 2));
  EXPECT(columns.num_rows == 1 && columns.num_truncated == 0 && cu_seqlens[0] == 0 && cu_seqlens[1] == 7);
  EXPECT(offsets[2].begin == 1 && offsets[2].end == 3 && offsets[5].begin == 11 && offsets[5].end == 13);
  EXPECT(special[0] == 1 && special[1] == 0 && special[6] == 1 && attention[0] == 1 && attention[6] == 1);
  EXPECT_OK(trellis_offsets_to_code_points(&accents.text, scratch, offsets + 1, 5, why, sizeof why), why);
  EXPECT(offsets[2].begin == 1 && offsets[2].end == 2 && offsets[5].begin == 9 && offsets[5].end == 11);

  /* Ids alone. */
  trellis_columns alone = {.struct_size = sizeof alone, .capacity = kRoom, .ids = ids};
  EXPECT_OK(trellis_encode(tokenizer, &accents, NULL, scratch, &alone, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, alone.num_tokens, 0, 15, 21, 19, 37, 38, 2));

  const trellis_input pair = {.text = {"hello world", 11},
                              .pair = {"\xE6\x97\xA5\xE6\x9C\xAC w\xC3\xB6rld", 13}};
  EXPECT_OK(trellis_encode(tokenizer, &pair, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 5, 6, 2, 2, 26, 37, 38, 2));
  EXPECT(type_ids[3] == 0 && type_ids[4] == 0 && type_ids[5] == 1 && type_ids[8] == 1);

  const trellis_encode_options bare = {.struct_size = sizeof bare, .no_special_tokens = 1};
  EXPECT_OK(trellis_encode(tokenizer, &pair, &bare, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 5, 6, 26, 37, 38));
}

static void EncodesNothing(const trellis_tokenizer* tokenizer, trellis_scratch* scratch) {
  trellis_columns columns = Columns();
  const trellis_input empty = {.text = {NULL, 0}};
  EXPECT_OK(trellis_encode(tokenizer, &empty, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 2));
  /* An empty pair is a pair. */
  const trellis_input empty_pair = {.text = {NULL, 0}, .pair = {"", 0}};
  EXPECT_OK(trellis_encode(tokenizer, &empty_pair, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 2, 2, 2));
  EXPECT_OK(trellis_encode_batch(tokenizer, NULL, 0, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(columns.num_tokens == 0 && columns.num_rows == 0 && cu_seqlens[0] == 0);
}

static void Shields(const trellis_tokenizer* tokenizer, trellis_scratch* scratch) {
  trellis_columns columns = Columns();
  const trellis_input spelled = Text("<s>hello</s>");
  EXPECT_OK(trellis_encode(tokenizer, &spelled, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 0, 5, 2, 2));
  const trellis_encode_options shield = {.struct_size = sizeof shield, .no_special_tokens = 1, .shield = 1};
  EXPECT_OK(trellis_encode(tokenizer, &spelled, &shield, scratch, &columns, why, sizeof why), why);
  EXPECT(columns.num_tokens > 0);
  for (size_t i = 0; i < columns.num_tokens; ++i) {
    EXPECT(ids[i] == trellis_vocab_unk(tokenizer) || !trellis_vocab_is_special(tokenizer, ids[i]));
  }
  /* The text's <s> now begins a word, so a marker comes first. */
  const trellis_encode_options as_text = {.struct_size = sizeof as_text, .encode_special_tokens = 1};
  EXPECT_OK(trellis_encode(tokenizer, &spelled, &as_text, scratch, &columns, why, sizeof why), why);
  EXPECT(columns.num_tokens > 2 && ids[0] == 0 && ids[1] != 0);
}

static void Truncates(const trellis_tokenizer* tokenizer, trellis_scratch* scratch) {
  trellis_columns columns = Columns();
  const trellis_input text = Text("hello world hello world");
  trellis_encode_options options = {
      .struct_size = sizeof options, .truncate = TRELLIS_TRUNCATE_LONGEST_FIRST, .max_length = 4};
  EXPECT_OK(trellis_encode(tokenizer, &text, &options, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 5, 6, 2));
  EXPECT(columns.num_truncated == 2);
  options.truncation_side = TRELLIS_LEFT;
  options.max_length = 3;
  EXPECT_OK(trellis_encode(tokenizer, &text, &options, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 6, 2));
  options.max_length = 1;
  EXPECT_ERROR(TRELLIS_INVALID_ARGUMENT, "max_length 1",
               trellis_encode(tokenizer, &text, &options, scratch, &columns, why, sizeof why), why);
  options.cut_nothing = 1;
  EXPECT_OK(trellis_encode(tokenizer, &text, &options, scratch, &columns, why, sizeof why), why);
  EXPECT(columns.num_tokens == 6);

  /* Windows of two text tokens, one in common. The first call only counts. */
  const trellis_encode_options windows = {.struct_size = sizeof windows,
                                          .truncate = TRELLIS_TRUNCATE_LONGEST_FIRST,
                                          .max_length = 4,
                                          .stride = 1};
  trellis_columns none = {.struct_size = sizeof none};
  EXPECT_ERROR(TRELLIS_RESOURCE_EXHAUSTED, "12 tokens and 3 rows",
               trellis_encode_windows(tokenizer, &text, &windows, scratch, &none, why, sizeof why), why);
  EXPECT(none.needed_tokens == 12 && none.needed_rows == 3);
  EXPECT_OK(trellis_encode_windows(tokenizer, &text, &windows, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 5, 6, 2, 0, 6, 5, 2, 0, 5, 6, 2));
  EXPECT(columns.num_rows == 3 && SAME_IDS(cu_seqlens, 4, 0, 4, 8, 12));
}

static void BatchesAndPads(const trellis_tokenizer* tokenizer, trellis_scratch* scratch) {
  trellis_columns columns = Columns();
  const trellis_input texts[3] = {Text("hello"), Text("hello world"), Text("")};
  EXPECT_OK(trellis_encode_batch(tokenizer, texts, 3, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 5, 2, 0, 5, 6, 2, 0, 2));
  EXPECT(columns.num_rows == 3 && SAME_IDS(cu_seqlens, 4, 0, 3, 7, 9));

  size_t length = 0, tokens = 0;
  trellis_padding padding = {.struct_size = sizeof padding, .id = 1};
  EXPECT_OK(trellis_padded_size(&columns, &padding, &length, &tokens, why, sizeof why), why);
  EXPECT(length == 4 && tokens == 12);
  int32_t matrix[15], ends[4];
  uint8_t mask[15];
  trellis_columns padded = {.struct_size = sizeof padded,
                            .capacity = 15,
                            .ids = matrix,
                            .attention_mask = mask,
                            .cu_seqlens = ends,
                            .cu_seqlens_capacity = 4};
  EXPECT_OK(trellis_pad(&columns, &padding, &padded, why, sizeof why), why);
  EXPECT(SAME_IDS(matrix, padded.num_tokens, 0, 5, 2, 1, 0, 5, 6, 2, 0, 2, 1, 1));
  EXPECT(memcmp(mask, "\1\1\1\0\1\1\1\1\1\1\0\0", 12) == 0 && padded.num_rows == 3);
  padding.strategy = TRELLIS_PAD_FIXED;
  padding.length = 3;
  padding.multiple_of = 5;
  padding.side = TRELLIS_LEFT;
  EXPECT_OK(trellis_pad(&columns, &padding, &padded, why, sizeof why), why);
  EXPECT(SAME_IDS(matrix, padded.num_tokens, 1, 1, 0, 5, 2, 1, 0, 5, 6, 2, 1, 1, 1, 0, 2));
  padded.capacity = 14;
  EXPECT_ERROR(TRELLIS_RESOURCE_EXHAUSTED, "14 tokens, expected 15",
               trellis_pad(&columns, &padding, &padded, why, sizeof why), why);
  EXPECT(trellis_file_padding(tokenizer, &padding) == 0 && padding.length == 3); /* the file has none */
}

static void Decodes(const trellis_tokenizer* tokenizer) {
  const int32_t row[] = {0, 5, 6, 2, 1000000, -7};
  char text[kRoom];
  size_t size = 0;
  EXPECT(trellis_decoded_bytes(tokenizer, row, 6) <= kRoom);
  EXPECT_OK(trellis_decode(tokenizer, row, 6, NULL, text, kRoom, &size, why, sizeof why), why);
  EXPECT(SameText(text, size, "hello world"));
  const trellis_decode_options keep = {.struct_size = sizeof keep, .keep_special_tokens = 1};
  EXPECT_OK(trellis_decode(tokenizer, row, 4, &keep, text, kRoom, &size, why, sizeof why), why);
  EXPECT(SameText(text, size, "<s> hello world</s>"));
  EXPECT_ERROR(TRELLIS_RESOURCE_EXHAUSTED, "room for 3 bytes",
               trellis_decode(tokenizer, row, 6, NULL, text, 3, &size, why, sizeof why), why);

  trellis_decode_stream* stream = NULL;
  EXPECT_OK(trellis_decode_stream_create(tokenizer, NULL, &stream, why, sizeof why), why);
  for (int round = 0; round < 2; ++round) {
    char all[kRoom] = "";
    const char* part;
    for (int i = 0; i < 4; ++i) {
      EXPECT_OK(trellis_decode_stream_step(stream, row[i], &part, &size), "step");
      strncat(all, part, size);
    }
    EXPECT_OK(trellis_decode_stream_finish(stream, &part, &size), "finish");
    strncat(all, part, size);
    EXPECT(strcmp(all, "hello world") == 0);
    trellis_decode_stream_reset(stream);
  }
  trellis_decode_stream_free(stream);
}

static void KnowsItsVocabulary(const trellis_tokenizer* tokenizer) {
  size_t size = 0;
  EXPECT(trellis_vocab_size(tokenizer) == 42 && trellis_vocab_unk(tokenizer) == 3);
  const char* hello = trellis_vocab_text(tokenizer, 5, &size);
  EXPECT(hello != NULL && SameText(hello, size, "\xE2\x96\x81hello"));
  EXPECT(trellis_vocab_find(tokenizer, hello, size) == 5 && trellis_vocab_find(tokenizer, "<mask>", 6) == 41);
  EXPECT(trellis_vocab_find(tokenizer, "nothing", 7) == TRELLIS_NO_ID);
  EXPECT(trellis_vocab_score(tokenizer, 5) == -2.637 && trellis_vocab_score(tokenizer, 99) == 0.0);
  EXPECT(trellis_vocab_is_special(tokenizer, 2) == 1 && trellis_vocab_is_special(tokenizer, 5) == 0);
  EXPECT(trellis_vocab_text(tokenizer, 42, &size) == NULL &&
         trellis_vocab_text(tokenizer, -1, &size) == NULL && size == 0);
}

/* The ids that the reference counts on: from the end, and the model's own. */
static void AddsTokens(const trellis_tokenizer* tokenizer, trellis_scratch* scratch) {
  const trellis_added_token tokens[] = {{"<tool>", 6, TRELLIS_TOKEN_SPECIAL}, {"low", 3, 0}};
  trellis_tokenizer* more = NULL;
  EXPECT_OK(trellis_tokenizer_add_tokens(tokenizer, tokens, 2, &more, why, sizeof why), why);
  trellis_columns columns = Columns();
  const trellis_input text = Text("hello<tool>low");
  EXPECT_OK(trellis_scratch_reserve(scratch, trellis_scratch_bytes(more, text.text.size)), "reserve");
  EXPECT_OK(trellis_encode(more, &text, NULL, scratch, &columns, why, sizeof why), why);
  EXPECT(SAME_IDS(ids, columns.num_tokens, 0, 5, 42, 18, 2));
  EXPECT(trellis_vocab_size(tokenizer) == 42 &&
         trellis_vocab_size(more) == 43); /* the old one is as it was */
  trellis_tokenizer_free(more);
}

static char* ReadFile(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* bytes = malloc(1 << 20);
  if (file == NULL || bytes == NULL) exit(1);
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void ParsesBytes(const char* path, trellis_scratch* scratch) {
  size_t size = 0;
  char* bytes = ReadFile(path, &size);
  trellis_tokenizer* tokenizer = NULL;
  const trellis_load_options plain = {.struct_size = sizeof plain, .no_shortcuts = 1};
  EXPECT_OK(trellis_tokenizer_parse(bytes, size, TRELLIS_TOKENIZER_JSON, &plain, &tokenizer, why, sizeof why),
            why);
  memset(bytes, 'x', size); /* not needed any more */
  Encodes(tokenizer, scratch);
  trellis_tokenizer_free(tokenizer);
  EXPECT_ERROR(
      TRELLIS_INVALID_ARGUMENT, ": ",
      trellis_tokenizer_parse(bytes, size, TRELLIS_TOKENIZER_JSON, NULL, &tokenizer, why, sizeof why), why);
  EXPECT(tokenizer == NULL);
  EXPECT_ERROR(
      TRELLIS_INVALID_ARGUMENT, ": ",
      trellis_tokenizer_parse(bytes, size, TRELLIS_SENTENCEPIECE_MODEL, NULL, &tokenizer, why, sizeof why),
      why);
  free(bytes);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  trellis_tokenizer* tokenizer = NULL;
  trellis_scratch* scratch = NULL;
  EXPECT(trellis_c_abi() == TRELLIS_C_ABI && strlen(trellis_version()) >= 5);
  EXPECT_OK(trellis_tokenizer_load(argv[1], NULL, &tokenizer, why, sizeof why), why);
  EXPECT_OK(trellis_scratch_create(&scratch), "scratch");
  EXPECT_OK(trellis_scratch_reserve(scratch, trellis_scratch_bytes(tokenizer, kRoom)), "reserve");
  EXPECT(trellis_scratch_capacity(scratch) >= trellis_scratch_bytes(tokenizer, kRoom));
  if (tokenizer == NULL || scratch == NULL) return 1;
  Encodes(tokenizer, scratch);
  EncodesNothing(tokenizer, scratch);
  Shields(tokenizer, scratch);
  Truncates(tokenizer, scratch);
  BatchesAndPads(tokenizer, scratch);
  Decodes(tokenizer);
  KnowsItsVocabulary(tokenizer);
  AddsTokens(tokenizer, scratch);
  ParsesBytes(argv[1], scratch);
  EXPECT(trellis_scratch_high_water(scratch) > 0 &&
         trellis_scratch_high_water(scratch) <= trellis_scratch_capacity(scratch));
  trellis_scratch_clear(scratch);
  Encodes(tokenizer, scratch);
  trellis_scratch_free(scratch);
  trellis_tokenizer_free(tokenizer);
  if (expect_failures == 0) puts("calls_test: passed");
  return expect_failures != 0;
}
