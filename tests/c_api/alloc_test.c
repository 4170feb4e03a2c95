/* Encoding, padding and decoding through the C interface allocate nothing, also when they fail: malloc is
 * counted, and the library's operator new ends in it. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/c_api/expect.h"
#include "trellis/c_api.h"

static int allocations = 0;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 1
/* glibc's own names behind the public ones. */
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t n) {
  ++allocations;
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
  ++allocations;
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t n) {
  ++allocations;
  return __libc_realloc(p, n);
}
#endif

enum { kRoom = 512 };
static int32_t ids[kRoom], padded_ids[kRoom], cu_seqlens[9];
static trellis_offset offsets[kRoom];
static uint8_t type_ids[kRoom], special[kRoom], attention[kRoom];
static char text[4096], why[256];

/* All calls that promise it; `expected` of the encoding ones. */
static void Calls(const trellis_tokenizer* tokenizer, trellis_scratch* scratch, size_t capacity,
                  trellis_status expected) {
  static const char kText[] = "hello w\xC3\xB6rld <mask> \xE6\x97\xA5\xE6\x9C\xAC x\xFF y";
  const trellis_input inputs[2] = {{.text = {kText, sizeof kText - 1}},
                                   {.text = {kText, 5}, .pair = {kText, 12}}};
  const trellis_encode_options windows = {.struct_size = sizeof windows,
                                          .truncate = TRELLIS_TRUNCATE_LONGEST_FIRST,
                                          .max_length = 6,
                                          .stride = 1};
  trellis_columns columns = {.struct_size = sizeof columns,
                             .capacity = capacity,
                             .ids = ids,
                             .offsets = offsets,
                             .type_ids = type_ids,
                             .special_tokens_mask = special,
                             .attention_mask = attention,
                             .cu_seqlens = cu_seqlens,
                             .cu_seqlens_capacity = 9};
  EXPECT(trellis_encode(tokenizer, &inputs[0], NULL, scratch, &columns, why, sizeof why) == expected);
  EXPECT(trellis_encode_windows(tokenizer, &inputs[0], &windows, scratch, &columns, why, sizeof why) ==
         expected);
  EXPECT(trellis_encode_batch(tokenizer, inputs, 2, NULL, scratch, &columns, why, sizeof why) == expected);
  trellis_columns padded = {
      .struct_size = sizeof padded, .capacity = capacity, .ids = padded_ids, .attention_mask = attention};
  EXPECT(trellis_pad(&columns, NULL, &padded, why, sizeof why) ==
         TRELLIS_OK); /* of no rows, after a failure */
  size_t size = 0;
  EXPECT(trellis_decode(tokenizer, ids, columns.num_tokens, NULL, text, sizeof text, &size, why,
                        sizeof why) == TRELLIS_OK);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
#ifndef COUNTS_MALLOC
  puts("alloc_test: SKIPPED: malloc cannot be counted under this sanitizer or C library");
#endif
  for (uint32_t plain = 0; plain < 2; ++plain) {
    const trellis_load_options options = {.struct_size = sizeof options, .no_shortcuts = plain};
    trellis_tokenizer* tokenizer = NULL;
    trellis_scratch* scratch = NULL;
    const int before = allocations;
    EXPECT_OK(trellis_tokenizer_load(argv[1], &options, &tokenizer, why, sizeof why), why);
#ifdef COUNTS_MALLOC
    EXPECT(allocations > before); /* the library's are counted */
#else
    (void)before;
#endif
    EXPECT_OK(trellis_scratch_create(&scratch), "scratch");
    EXPECT_OK(trellis_scratch_reserve(scratch, trellis_scratch_bytes(tokenizer, 64)), "reserve");
    if (expect_failures != 0) return 1;
    const int loaded = allocations;
    Calls(tokenizer, scratch, kRoom, TRELLIS_OK);
    Calls(tokenizer, scratch, 3, TRELLIS_RESOURCE_EXHAUSTED);
    EXPECT(allocations == loaded);
    trellis_scratch_free(scratch);
    trellis_tokenizer_free(tokenizer);
  }
  if (expect_failures == 0) puts("alloc_test: passed");
  return expect_failures != 0;
}
