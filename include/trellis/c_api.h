/* The C interface: text to token ids and back, from any language that can call C
 * (libtrellis_c, also through dlopen). C99 and later, and C++.
 *
 *   char why[256];
 *   trellis_tokenizer* tokenizer = NULL;
 *   if (trellis_tokenizer_load("models/multilingual-e5-small", NULL, &tokenizer, why, sizeof why) !=
 * TRELLIS_OK) ...
 *
 * Results: a status, and what went wrong as one line in `message`, memory of
 * yours (NULL, 0: not wanted). It always ends in a NUL, is cut where it does not
 * fit, and empty after success. Nothing is thrown, and NULL or an impossible size
 * is an error, not the end of the program.
 *
 * Structs begin with struct_size, sizeof of yours: set it, and all else to zero.
 * Zero is always the default, so a program that knows fewer fields than the
 * library goes on to work, and one that knows more as long as it leaves them 0.
 * A pointer to options may be NULL: the defaults.
 *
 * Texts are bytes and a size, not ended by a NUL. Malformed UTF-8 is input.
 *
 * Threads: a tokenizer never changes, any number may use it; a scratch, a decode
 * stream and a random are one thread's at a time. Whatever a tokenizer hands out as
 * a pointer lives as long as it does; streams keep what they need of it.
 *
 * Whose truth, bounds and errors in full: trellis/tokenizer.h. */
#ifndef TRELLIS_C_API_H_
#define TRELLIS_C_API_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TRELLIS_C_API __attribute__((visibility("default")))
#else
#define TRELLIS_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a program that was compiled with an earlier header stops working. */
#define TRELLIS_C_ABI 1
TRELLIS_C_API uint32_t trellis_c_abi(void);
TRELLIS_C_API const char* trellis_version(void); /* "0.1.0" */

/* The numbers are absl::StatusCode's, and gRPC's. */
typedef int32_t trellis_status;
enum {
  TRELLIS_OK = 0,
  TRELLIS_INVALID_ARGUMENT = 3, /* broken file, option, or a pointer that is NULL */
  TRELLIS_NOT_FOUND = 5,        /* no such file */
  TRELLIS_PERMISSION_DENIED = 7,
  TRELLIS_RESOURCE_EXHAUSTED = 8,  /* scratch or buffer too small, text of 4 GiB, no memory */
  TRELLIS_FAILED_PRECONDITION = 9, /* a stream's text does not go on as it began */
  TRELLIS_UNIMPLEMENTED = 12,      /* a file asks for what is not supported */
  TRELLIS_INTERNAL = 13,
  TRELLIS_DATA_LOSS = 15 /* a file cannot be read to its end */
};
TRELLIS_C_API const char* trellis_status_name(trellis_status status); /* "INVALID_ARGUMENT" */

typedef struct trellis_tokenizer trellis_tokenizer;
typedef struct trellis_scratch trellis_scratch;
typedef struct trellis_decode_stream trellis_decode_stream;
typedef struct trellis_random trellis_random;

/* --- loading --- */

typedef struct trellis_load_options {
  size_t struct_size;
  uint32_t fairseq;      /* 1: XLM-RoBERTa's id shift of a .model */
  uint32_t no_shortcuts; /* 1: the plain path, slower, same results */
  uint32_t huge_pages;   /* 1: ask for 2 MB pages */
  uint32_t reserved;
} trellis_load_options;

enum { TRELLIS_TOKENIZER_JSON = 0, TRELLIS_SENTENCEPIECE_MODEL = 1 };

/* A tokenizer.json, a .model, or a folder that holds one. */
TRELLIS_C_API trellis_status trellis_tokenizer_load(const char* path, const trellis_load_options* options,
                                                    trellis_tokenizer** tokenizer, char* message,
                                                    size_t message_size);
/* A file's bytes, which are not needed afterwards. */
TRELLIS_C_API trellis_status trellis_tokenizer_parse(const void* bytes, size_t size, uint32_t format,
                                                     const trellis_load_options* options,
                                                     trellis_tokenizer** tokenizer, char* message,
                                                     size_t message_size);

enum {
  TRELLIS_TOKEN_SPECIAL = 1,
  TRELLIS_TOKEN_SINGLE_WORD = 2,
  TRELLIS_TOKEN_LSTRIP = 4,
  TRELLIS_TOKEN_RSTRIP = 8,
  TRELLIS_TOKEN_NORMALIZED = 16
};
typedef struct trellis_added_token {
  const char* content;
  size_t content_size;
  uint32_t flags; /* TRELLIS_TOKEN_* */
} trellis_added_token;

/* A new tokenizer with more tokens, as the reference's add_tokens: ids are the
 * model's, or counted on from the end. */
TRELLIS_C_API trellis_status trellis_tokenizer_add_tokens(const trellis_tokenizer* tokenizer,
                                                          const trellis_added_token* tokens, size_t count,
                                                          trellis_tokenizer** with_tokens, char* message,
                                                          size_t message_size);
TRELLIS_C_API void trellis_tokenizer_free(trellis_tokenizer* tokenizer); /* NULL is fine, as for all */

/* --- vocabulary --- */

#define TRELLIS_NO_ID (-1)

TRELLIS_C_API int32_t
trellis_vocab_size(const trellis_tokenizer* tokenizer); /* one more than the largest id */
/* A piece or added token, not ended by a NUL; NULL when there is none, or an empty one. */
TRELLIS_C_API const char* trellis_vocab_text(const trellis_tokenizer* tokenizer, int32_t id, size_t* size);
/* TRELLIS_NO_ID when there is none. The first call builds a table. */
TRELLIS_C_API int32_t trellis_vocab_find(const trellis_tokenizer* tokenizer, const char* text, size_t size);
TRELLIS_C_API double trellis_vocab_score(const trellis_tokenizer* tokenizer,
                                         int32_t id); /* 0 beyond the model */
TRELLIS_C_API int32_t trellis_vocab_is_special(const trellis_tokenizer* tokenizer, int32_t id);
TRELLIS_C_API int32_t trellis_vocab_unk(const trellis_tokenizer* tokenizer); /* or TRELLIS_NO_ID */

/* --- scratch: what encoding may scribble on, one a thread --- */

TRELLIS_C_API trellis_status trellis_scratch_create(trellis_scratch** scratch);
/* Makes it no smaller than `bytes`; pages are not touched before they are used. */
TRELLIS_C_API trellis_status trellis_scratch_reserve(trellis_scratch* scratch, size_t bytes);
TRELLIS_C_API size_t trellis_scratch_capacity(const trellis_scratch* scratch);
/* The most that a call has asked for, also one that did not get it. */
TRELLIS_C_API size_t trellis_scratch_high_water(const trellis_scratch* scratch);
/* Forgets the words that it remembers. */
TRELLIS_C_API void trellis_scratch_clear(trellis_scratch* scratch);
TRELLIS_C_API void trellis_scratch_free(trellis_scratch* scratch);

/* Enough for any text (or pair, sizes added) of so many bytes. */
TRELLIS_C_API size_t trellis_scratch_bytes(const trellis_tokenizer* tokenizer, size_t input_bytes);
TRELLIS_C_API size_t trellis_max_tokens(const trellis_tokenizer* tokenizer, size_t input_bytes);

/* --- encoding: never allocates --- */

typedef struct trellis_text {
  const char* bytes; /* NULL with size 0: the empty text; as a pair: none */
  size_t size;
} trellis_text;
typedef struct trellis_input {
  trellis_text text;
  trellis_text pair;
} trellis_input;

enum {
  TRELLIS_TRUNCATE_NEVER,
  TRELLIS_TRUNCATE_LONGEST_FIRST,
  TRELLIS_TRUNCATE_ONLY_FIRST,
  TRELLIS_TRUNCATE_ONLY_SECOND
};
enum { TRELLIS_RIGHT, TRELLIS_LEFT };

typedef struct trellis_encode_options {
  size_t struct_size;
  uint32_t no_special_tokens; /* 1: without the template's (<s> A </s>) */
  uint32_t shield;            /* 1: text that spells a special token stays text */
  uint32_t truncate;          /* TRELLIS_TRUNCATE_* */
  uint32_t truncation_side;   /* the side that loses tokens: TRELLIS_RIGHT, TRELLIS_LEFT */
  size_t max_length;          /* tokens, specials included; used unless never truncated */
  size_t stride;              /* tokens that windows have in common */
  uint32_t cut_nothing;       /* 1: a max_length below the number of specials cuts nothing; 0: is an error */
  uint32_t encode_special_tokens; /* 1: special tokens are not looked for in text (no shield: pieces spelled so stay) */
} trellis_encode_options;

/* Sets what the file says of truncation and returns 1; 0: it says nothing. */
TRELLIS_C_API int32_t trellis_file_truncation(const trellis_tokenizer* tokenizer,
                                              trellis_encode_options* options);

/* Half-open range of bytes of a token's own text. Template tokens: 0, 0. */
typedef struct trellis_offset {
  uint32_t begin;
  uint32_t end;
} trellis_offset;

/* Where tokens are written, and what was. A column that is NULL is not wanted. */
typedef struct trellis_columns {
  size_t struct_size;
  size_t capacity; /* tokens that there is room for, in each column */
  int32_t* ids;
  trellis_offset* offsets;
  uint8_t* type_ids;
  uint8_t* special_tokens_mask;
  uint8_t* attention_mask;    /* 0 for pads, 1 for all else */
  int32_t* cu_seqlens;        /* row i is [cu_seqlens[i], cu_seqlens[i + 1]) */
  size_t cu_seqlens_capacity; /* at least rows + 1 */
  /* written: */
  size_t num_tokens;
  size_t num_rows;
  size_t num_truncated; /* text tokens left out because of max_length */
  size_t needed_tokens; /* trellis_encode_windows: room that all windows take, */
  size_t needed_rows;   /* also when there was too little; 0: not known */
} trellis_columns;

/* One text or pair to one row; cu_seqlens may be NULL. */
TRELLIS_C_API trellis_status trellis_encode(const trellis_tokenizer* tokenizer, const trellis_input* input,
                                            const trellis_encode_options* options, trellis_scratch* scratch,
                                            trellis_columns* columns, char* message, size_t message_size);
/* Rows end to end. The first that fails fails the call; the message names it. */
TRELLIS_C_API trellis_status trellis_encode_batch(const trellis_tokenizer* tokenizer,
                                                  const trellis_input* inputs, size_t count,
                                                  const trellis_encode_options* options,
                                                  trellis_scratch* scratch, trellis_columns* columns,
                                                  char* message, size_t message_size);
/* All windows of a text that truncation would cut, `stride` tokens in common. */
TRELLIS_C_API trellis_status trellis_encode_windows(const trellis_tokenizer* tokenizer,
                                                    const trellis_input* input,
                                                    const trellis_encode_options* options,
                                                    trellis_scratch* scratch, trellis_columns* columns,
                                                    char* message, size_t message_size);

/* Byte offsets of one text's tokens to offsets in code points, in place. Keeps
 * four bytes a byte of the longest text in `scratch`: allocates when it grows. */
TRELLIS_C_API trellis_status trellis_offsets_to_code_points(const trellis_text* text,
                                                            trellis_scratch* scratch, trellis_offset* offsets,
                                                            size_t count, char* message, size_t message_size);

/* --- other ways to cut a text: a .model's alone, and they allocate (trellis/sampling.h) --- */

/* The text's own tokens in its `count` best ways, 1 to 1024, best first and a row each; fewer when there are
 * no more. `scores`: NULL, or room for as many. needed_tokens and needed_rows are set also when there was too
 * little room. */
TRELLIS_C_API trellis_status trellis_encode_nbest(const trellis_tokenizer* tokenizer,
                                                  const trellis_text* text, size_t count,
                                                  trellis_columns* columns, float* scores,
                                                  size_t scores_capacity, char* message, size_t message_size);

/* What is drawn with: one seed, one row of samples, on every machine. */
TRELLIS_C_API trellis_status trellis_random_create(uint32_t seed, trellis_random** random);
TRELLIS_C_API void trellis_random_free(trellis_random* random);
/* Draws one way to one row; nothing is drawn where there is too little room. nbest_size below 0: of all ways;
 * 2 to 512: of so many best ones; 0 and 1: the best. A way's probability is in proportion to exp(alpha x its
 * score). cu_seqlens and `score` may be NULL. */
TRELLIS_C_API trellis_status trellis_encode_sample(const trellis_tokenizer* tokenizer,
                                                   const trellis_text* text, int32_t nbest_size, float alpha,
                                                   trellis_random* random, trellis_columns* columns,
                                                   float* score, char* message, size_t message_size);

/* --- padding: never allocates --- */

enum { TRELLIS_PAD_LONGEST, TRELLIS_PAD_FIXED };
typedef struct trellis_padding {
  size_t struct_size;
  uint32_t strategy;  /* TRELLIS_PAD_* */
  uint32_t side;      /* where the pads go */
  size_t length;      /* TRELLIS_PAD_FIXED */
  size_t multiple_of; /* the length is rounded up to one; 0: as it is */
  int32_t id;
  uint32_t type_id; /* at most 255 */
} trellis_padding;

/* Sets what the file says of padding and returns 1; 0: it says nothing. */
TRELLIS_C_API int32_t trellis_file_padding(const trellis_tokenizer* tokenizer, trellis_padding* padding);
/* How long each row becomes, and tokens of all rows then: what trellis_pad needs. */
TRELLIS_C_API trellis_status trellis_padded_size(const trellis_columns* rows, const trellis_padding* padding,
                                                 size_t* length, size_t* tokens, char* message,
                                                 size_t message_size);
/* The rows that an encode call has written into `rows`, in other memory. */
TRELLIS_C_API trellis_status trellis_pad(const trellis_columns* rows, const trellis_padding* padding,
                                         trellis_columns* padded, char* message, size_t message_size);

/* --- decoding --- */

typedef struct trellis_decode_options {
  size_t struct_size;
  uint32_t keep_special_tokens;
  uint32_t clean_up; /* 1: no blank before English punctuation */
} trellis_decode_options;

/* Never allocates. trellis_decoded_bytes says how much room is enough. The text is
 * not ended by a NUL. Ids of nothing are left out. */
TRELLIS_C_API trellis_status trellis_decode(const trellis_tokenizer* tokenizer, const int32_t* ids,
                                            size_t count, const trellis_decode_options* options, char* text,
                                            size_t capacity, size_t* size, char* message,
                                            size_t message_size);
TRELLIS_C_API size_t trellis_decoded_bytes(const trellis_tokenizer* tokenizer, const int32_t* ids,
                                           size_t count);

/* Ids one by one; text comes as soon as it is certain, and lives until the next call. */
TRELLIS_C_API trellis_status trellis_decode_stream_create(const trellis_tokenizer* tokenizer,
                                                          const trellis_decode_options* options,
                                                          trellis_decode_stream** stream, char* message,
                                                          size_t message_size);
TRELLIS_C_API trellis_status trellis_decode_stream_step(trellis_decode_stream* stream, int32_t id,
                                                        const char** text, size_t* size);
/* What was held back; the stream is new then. */
TRELLIS_C_API trellis_status trellis_decode_stream_finish(trellis_decode_stream* stream, const char** text,
                                                          size_t* size);
TRELLIS_C_API void trellis_decode_stream_reset(trellis_decode_stream* stream);
TRELLIS_C_API void trellis_decode_stream_free(trellis_decode_stream* stream);

#ifdef __cplusplus
}
#endif

#endif /* TRELLIS_C_API_H_ */
