// AMX tiles: whether this process may use them, and their shape while it does.
#ifndef TRELLIS_SERVE_ENGINE_CPU_AMX_H_
#define TRELLIS_SERVE_ENGINE_CPU_AMX_H_

#include "serve/engine/cpu/isa.h"

namespace trellis::engine::cpu {

// The processor has them for factors of this kind, the kernel has granted them, which it is asked for here,
// and oneDNN is not told to do without.
bool HasAmx(Precision precision);

// All eight tiles 16 rows by 64 bytes, on this thread and until this goes. Calls of oneDNN in between would
// change that.
class AmxTiles {
 public:
  AmxTiles();
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_AMX_H_
