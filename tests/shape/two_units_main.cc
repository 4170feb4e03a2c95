#include <cstdio>

#include "tests/shape/every_header.h"  // generated

// In two_units_other.cc, which sees the same headers.
const void* ReserveSeenByTheOther();
bool OffsetsEqualInTheOther(trellis::Offset a, trellis::Offset b);

int main() {
  const trellis::Offset offset{1, 2};
  if (!OffsetsEqualInTheOther(offset, trellis::Offset{1, 2}) ||
      OffsetsEqualInTheOther(offset, trellis::Offset{1, 3})) {
    std::puts("an inline function means something else in the other translation unit");
    return 1;
  }
  auto reserve = &trellis::Scratch::Reserve;
  if (ReserveSeenByTheOther() == nullptr || reserve == nullptr) return 1;
  std::puts("two translation units with every header agree");
  return 0;
}
