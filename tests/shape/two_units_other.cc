#include "tests/shape/every_header.h"  // generated

const void* ReserveSeenByTheOther() {
  static const auto reserve = &trellis::Scratch::Reserve;
  return &reserve;
}

bool OffsetsEqualInTheOther(trellis::Offset a, trellis::Offset b) { return a == b; }
