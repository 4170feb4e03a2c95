// The parts of the module, a file each.
#ifndef TRELLIS_PYTHON_BINDINGS_H_
#define TRELLIS_PYTHON_BINDINGS_H_

#include <nanobind/nanobind.h>

#include <memory>

#include "python/src/encoder_pool.h"

namespace trellis::python {

// trellis.Tokenizer.
struct PyTokenizer {
  std::shared_ptr<LoadedTokenizer> loaded;
  nanobind::object compiled = {};  // its pickle, once there is one
  const Tokenizer& operator*() const { return loaded->tokenizer; }
  const Tokenizer* operator->() const { return &loaded->tokenizer; }
};
using TokenizerClass = nanobind::class_<PyTokenizer>;

void BindValues(nanobind::module_& module);                             // AddedToken, Padding, Truncation
void BindEncoding(nanobind::module_& module);                           // Encoding
void BindLoading(TokenizerClass& tokenizer);                            // from_*, save_compiled, vocabulary
void BindPickling(TokenizerClass& tokenizer);                           // pickles and copies
void BindEncode(TokenizerClass& tokenizer);                             // encode, encode_batch
void BindArrays(TokenizerClass& tokenizer);                             // encode_ids, encode_padded
void BindArrow(nanobind::module_& module, TokenizerClass& tokenizer);   // encode_arrow
void BindDecode(nanobind::module_& module, TokenizerClass& tokenizer);  // decode*, DecodeStream

void BindSampling(nanobind::module_& module,
                  TokenizerClass& tokenizer);  // encode_nbest, Segmentation, Sampler

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_BINDINGS_H_
