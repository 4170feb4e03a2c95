// Everything public, for those who like one include.
#ifndef TRELLIS_TRELLIS_H_
#define TRELLIS_TRELLIS_H_

#include "trellis/code_point_offsets.h"  // IWYU pragma: export
#include "trellis/decode_stream.h"       // IWYU pragma: export
#include "trellis/encoding.h"            // IWYU pragma: export
#include "trellis/growing_scratch.h"     // IWYU pragma: export
#include "trellis/load.h"                // IWYU pragma: export
#include "trellis/padding.h"             // IWYU pragma: export
#include "trellis/sampling.h"            // IWYU pragma: export
#include "trellis/scratch.h"             // IWYU pragma: export
#include "trellis/spec.h"                // IWYU pragma: export
#include "trellis/tokenizer.h"           // IWYU pragma: export
#include "trellis/version.h"             // IWYU pragma: export

#endif  // TRELLIS_TRELLIS_H_
