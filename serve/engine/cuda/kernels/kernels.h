// What runs on the device beside the matrix products: one function for each kernel, and what it reads and
// writes.
//
// Two libraries have these functions, of the same text (the .inl files here): trellis_cuda_kernels, by nvcc,
// starts them on a stream; trellis_cuda_emulated, by the C++ compiler, runs them at once on this machine's
// processor (../emulation). A program links one of the two.
//
// Numbers are 16 bits wide between kernels (HalfType says which kind) and float in weights of norms, heads
// and results. Tokens lie end to end without padding; `tokens` is the bucket's count, so the last ones may
// belong to no row. Those are computed like the others where each token is for itself, and touched by nobody
// else. Every pointer is device memory, at least 16-byte aligned, and every array is as long as its comment
// says; lengths of rows are only ever read on the device, so that a captured launch serves all batches of its
// bucket.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_KERNELS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "serve/engine/cuda/half_type.h"
#include "serve/engine/cuda/query_tile.h"

namespace trellis::engine::cuda {

using Stream = void*;     // a cudaStream_t; emulated kernels do not look at it
using Bits16 = uint16_t;  // one number of a HalfType

// The longest states that the norms take: sizes that are a multiple of 8, which are read by vectors, and
// others.
inline constexpr int kMostHidden = 2048, kMostOddHidden = 1024;

// out[t] = LayerNorm(words[ids[t]] + positions[position_ids[t]] + types[type_ids[t]]).
struct EmbedArgs {
  HalfType type = HalfType::kBf16;
  int tokens = 0, hidden = 0;
  const int32_t* ids = nullptr;           // [tokens], each a row of `words`: also those of no row
  const int32_t* position_ids = nullptr;  // [tokens], likewise
  const int32_t* type_ids = nullptr;      // [tokens], likewise; null: all 0
  const Bits16* words = nullptr;          // [vocabulary][hidden]
  const Bits16* positions = nullptr;      // [max_positions][hidden]
  const Bits16* types = nullptr;          // [type_vocabulary][hidden]
  const float* gamma = nullptr;           // [hidden]
  const float* beta = nullptr;            // [hidden]
  float epsilon = 0;
  Bits16* out = nullptr;  // [tokens][hidden]
};
void LaunchEmbed(Stream stream, const EmbedArgs& args);

// states = LayerNorm(states + branch), in place.
struct AddNormArgs {
  HalfType type = HalfType::kBf16;
  int tokens = 0, hidden = 0;
  const Bits16* branch = nullptr;  // [tokens][hidden]
  const float* gamma = nullptr;    // [hidden]
  const float* beta = nullptr;     // [hidden]
  float epsilon = 0;
  Bits16* states = nullptr;  // [tokens][hidden]
};
void LaunchAddNorm(Stream stream, const AddNormArgs& args);

// values = activation(values), in place. kGelu is the exact one, by erf.
enum class Curve : uint8_t { kGelu, kGeluTanh, kRelu };
struct ActivateArgs {
  HalfType type = HalfType::kBf16;
  Curve curve = Curve::kGelu;
  size_t count = 0;          // tokens times width
  Bits16* values = nullptr;  // [count]
};
void LaunchActivate(Stream stream, const ActivateArgs& args);

// Attention within each row. `qkv` is the one product of a layer's stacked query, key and value weights, as
// it comes: no kernel splits it.
//   out[t][h] = sum over the row's u of softmax over u(scale * q[t][h] . k[u][h]) * v[u][h]
struct AttentionArgs {
  HalfType type = HalfType::kBf16;
  int heads = 0, head_size = 0;
  // Of the bucket: rows + tokens / kTileQueries, as many as a batch can need. Those left over exit at once.
  int tiles = 0;
  const QueryTile* tile_map = nullptr;  // [tiles]
  const int32_t* cu_seqlens = nullptr;  // [rows + 1]
  float scale = 0;                      // 1 / sqrt(head_size)
  const Bits16* qkv = nullptr;          // [tokens][3][heads][head_size]
  Bits16* out = nullptr;                // [tokens][heads][head_size]; tokens of no row are left as they are
};
// By tensor cores, head sizes 32, 64 and 128. Weights are rounded to 16 bits before they meet the values.
void LaunchMmaAttention(Stream stream, const AttentionArgs& args);
// In float on ordinary cores, any head size up to kReferenceHeadSize. attention_backends.h chooses.
inline constexpr int kReferenceHeadSize = 256;
void LaunchReferenceAttention(Stream stream, const AttentionArgs& args);

// What a row asks for, as the host uploads it: an engine::RowTask without what only the host needs.
struct RowWork {
  enum Pool : uint8_t { kNothing, kMean, kCls, kLast };
  Pool pool = kNothing;      // kCls for classification
  uint8_t every_token = 0;   // 1: LaunchTokenVectors writes its tokens
  uint8_t scale_to_one = 0;  // after the cut
  int32_t dimensions = 0;    // the first so many; 0: all
};

// out[r] = the row's states as one vector, in float. Rows with kNothing, and without tokens: zeros.
struct PoolArgs {
  HalfType type = HalfType::kBf16;
  int rows = 0, hidden = 0;
  const int32_t* cu_seqlens = nullptr;  // [rows + 1]
  const RowWork* work = nullptr;        // [rows]
  const Bits16* states = nullptr;       // [tokens][hidden]
  float* out = nullptr;                 // [rows][hidden]
};
void LaunchPool(Stream stream, const PoolArgs& args);

// A linear layer of a head, all in float: out[r] = after(weight x[r] + bias). For as many rows as a batch
// has, not tokens.
struct DenseArgs {
  enum After : uint8_t { kIdentity, kTanh };
  After after = kIdentity;
  int rows = 0, in = 0, out_size = 0;
  const float* x = nullptr;       // [rows][in]
  const float* weight = nullptr;  // [out_size][in]
  const float* bias = nullptr;    // [out_size]; null: none
  float* out = nullptr;           // [rows][out_size]
};
void LaunchDense(Stream stream, const DenseArgs& args);

// The end of pooled vectors, in place: scaled to length 1 if the model's folder says so; cut to what the row
// asks for, and zeros after; scaled to length 1 again if the row asks for that. A vector of zeros stays what
// it is.
struct FinishRowsArgs {
  int rows = 0, size = 0;
  bool model_scales = false;
  const RowWork* work = nullptr;  // [rows]
  float* vectors = nullptr;       // [rows][size]
};
void LaunchFinishRows(Stream stream, const FinishRowsArgs& args);

// Each token's vector (the last states, or the ColBERT layer's product of them) of the rows that ask for it:
// cut and scaled as the row says, zeros after the cut. Tokens of other rows are left as they are.
struct TokenVectorsArgs {
  HalfType type = HalfType::kBf16;
  int size = 0;
  int tiles = 0;                        // of the bucket
  const QueryTile* tile_map = nullptr;  // [tiles]
  const int32_t* cu_seqlens = nullptr;  // [rows + 1]
  const RowWork* work = nullptr;        // [rows]
  const Bits16* states = nullptr;       // [tokens][size]
  float* out = nullptr;                 // [tokens][size]
};
void LaunchTokenVectors(Stream stream, const TokenVectorsArgs& args);

// The sparse head's layer: out[t] = weight . states[t] + bias[0]. What is left, dropping special tokens and
// weights that are not positive and taking the most of equal ids, is the host's: it has the ids, and what
// comes out has no fixed size.
struct TokenWeightsArgs {
  HalfType type = HalfType::kBf16;
  int tokens = 0, hidden = 0;
  const Bits16* states = nullptr;  // [tokens][hidden]
  const float* weight = nullptr;   // [hidden]
  const float* bias = nullptr;     // [1]
  float* out = nullptr;            // [tokens]
};
void LaunchTokenWeights(Stream stream, const TokenWeightsArgs& args);

// Rounds to the nearest, ties to even; what is not a number stays so.
struct NarrowArgs {
  HalfType type = HalfType::kBf16;
  size_t count = 0;
  const float* from = nullptr;  // [count]
  Bits16* to = nullptr;         // [count]
};
void LaunchNarrow(Stream stream, const NarrowArgs& args);

// The other way, exactly.
struct WidenArgs {
  HalfType type = HalfType::kBf16;
  size_t count = 0;
  const Bits16* from = nullptr;  // [count]
  float* to = nullptr;           // [count]
};
void LaunchWiden(Stream stream, const WidenArgs& args);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_KERNELS_H_
