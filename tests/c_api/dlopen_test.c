/* The C interface through dlopen, as other languages have it: a program that is not linked with the library,
 * C99.
 *
 *   dlopen_test LIBRARY MODEL */
#define _POSIX_C_SOURCE 200112L
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "trellis/c_api.h"

/* POSIX's way from dlsym's object pointer to a function. */
static void* library;
static int missing = 0;
static void Find(void* function, const char* name) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "dlopen_test: %s is not there\n", name);
    missing = 1;
  }
  memcpy(function, &found, sizeof found);
}

int main(int argc, char** argv) {
  trellis_status (*load)(const char*, const trellis_load_options*, trellis_tokenizer**, char*, size_t);
  trellis_status (*create)(trellis_scratch**);
  trellis_status (*reserve)(trellis_scratch*, size_t);
  size_t (*scratch_bytes)(const trellis_tokenizer*, size_t);
  trellis_status (*encode)(const trellis_tokenizer*, const trellis_input*, const trellis_encode_options*,
                           trellis_scratch*, trellis_columns*, char*, size_t);
  void (*free_scratch)(trellis_scratch*);
  void (*free_tokenizer)(trellis_tokenizer*);
  static const int32_t kExpected[] = {0, 5, 6, 2}; /* tokenizers 0.22.2: tests/cli/expected.jsonl */
  int32_t ids[16];
  char why[256];
  int round;
  if (argc != 3) return 2;
  /* Twice: what is closed leaves nothing behind that breaks the next. */
  for (round = 0; round < 2; ++round) {
    trellis_tokenizer* tokenizer = NULL;
    trellis_scratch* scratch = NULL;
    trellis_input input;
    trellis_columns columns;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "dlopen_test: %s\n", dlerror());
      return 1;
    }
    Find(&load, "trellis_tokenizer_load");
    Find(&create, "trellis_scratch_create");
    Find(&reserve, "trellis_scratch_reserve");
    Find(&scratch_bytes, "trellis_scratch_bytes");
    Find(&encode, "trellis_encode");
    Find(&free_scratch, "trellis_scratch_free");
    Find(&free_tokenizer, "trellis_tokenizer_free");
    if (missing) return 1;
    memset(&input, 0, sizeof input);
    memset(&columns, 0, sizeof columns);
    input.text.bytes = "hello world";
    input.text.size = 11;
    columns.struct_size = sizeof columns;
    columns.capacity = 16;
    columns.ids = ids;
    if (load(argv[2], NULL, &tokenizer, why, sizeof why) != TRELLIS_OK || create(&scratch) != TRELLIS_OK ||
        reserve(scratch, scratch_bytes(tokenizer, 11)) != TRELLIS_OK ||
        encode(tokenizer, &input, NULL, scratch, &columns, why, sizeof why) != TRELLIS_OK) {
      fprintf(stderr, "dlopen_test: %s\n", why);
      return 1;
    }
    if (columns.num_tokens != 4 || memcmp(ids, kExpected, sizeof kExpected) != 0) {
      fprintf(stderr, "dlopen_test: %lu tokens or other ids than the reference's\n",
              (unsigned long)columns.num_tokens);
      return 1;
    }
    free_scratch(scratch);
    free_tokenizer(tokenizer);
    dlclose(library);
  }
  puts("dlopen_test: passed");
  return 0;
}
