#include "trellis/version.h"

namespace trellis {

const char* Version() { return TRELLIS_VERSION; }

}  // namespace trellis
