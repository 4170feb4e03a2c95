// What the C interface's opaque handles are.
#ifndef TRELLIS_SRC_C_API_HANDLES_H_
#define TRELLIS_SRC_C_API_HANDLES_H_

#include <random>

#include "trellis/c_api.h"
#include "trellis/code_point_offsets.h"
#include "trellis/decode_stream.h"
#include "trellis/scratch.h"
#include "trellis/tokenizer.h"

struct trellis_tokenizer {
  trellis::Tokenizer tokenizer;
  trellis::TokenizerOptions options;  // for tokenizers that are made of it
};

struct trellis_scratch {
  trellis::Scratch scratch;
  trellis::CodePointOffsets code_points;
};

struct trellis_random {
  std::mt19937 random;
};

struct trellis_decode_stream {
  trellis::DecodeStream stream;
};

#endif  // TRELLIS_SRC_C_API_HANDLES_H_
