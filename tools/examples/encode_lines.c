/* Token ids of each line of stdin, through the C interface:
 *
 *   cc -std=c11 encode_lines.c $(pkg-config --cflags --libs trellis_c) -o encode_lines
 *   echo "Hello, world!" | ./encode_lines models/multilingual-e5-small
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trellis/c_api.h"

enum { kMostBytes = 1 << 16 };

int main(int argc, char** argv) {
  if (argc != 2) {
    fputs("encode_lines MODEL < texts\n", stderr);
    return 2;
  }
  char why[512];
  trellis_tokenizer* tokenizer = NULL;
  if (trellis_tokenizer_load(argv[1], NULL, &tokenizer, why, sizeof why) != TRELLIS_OK) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }

  /* Room for the longest line, once; after that nothing is allocated. */
  trellis_scratch* scratch = NULL;
  trellis_columns columns = {.struct_size = sizeof columns};
  columns.capacity = trellis_max_tokens(tokenizer, kMostBytes);
  columns.ids = malloc(columns.capacity * sizeof *columns.ids);
  if (columns.ids == NULL || trellis_scratch_create(&scratch) != TRELLIS_OK ||
      trellis_scratch_reserve(scratch, trellis_scratch_bytes(tokenizer, kMostBytes)) != TRELLIS_OK) {
    fputs("encode_lines: too little memory\n", stderr);
    return 1;
  }

  static char line[kMostBytes];
  int status = 0;
  while (status == 0 && fgets(line, sizeof line, stdin) != NULL) {
    const trellis_input input = {.text = {line, strcspn(line, "\n")}};
    if (trellis_encode(tokenizer, &input, NULL, scratch, &columns, why, sizeof why) != TRELLIS_OK) {
      fprintf(stderr, "%s\n", why);
      status = 1;
    }
    for (size_t i = 0; i < columns.num_tokens; ++i) printf(i == 0 ? "%d" : " %d", (int)columns.ids[i]);
    putchar('\n');
  }

  free(columns.ids);
  trellis_scratch_free(scratch);
  trellis_tokenizer_free(tokenizer);
  return status;
}
