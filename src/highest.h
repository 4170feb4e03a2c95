// The highest value of a list, as fast as memory is read.
#ifndef TRELLIS_SRC_HIGHEST_H_
#define TRELLIS_SRC_HIGHEST_H_

#include <algorithm>
#include <cstddef>
#include <span>

namespace trellis::internal {

// The highest of value(x) for each x of list, and of least, which stands for none. Several maxima beside each
// other, since one alone would wait for the last at each element.
template <typename Value>
double HighestOf(std::span<const double> list, double least, const Value& value) {
  constexpr size_t kLanes = 8;
  double highest[kLanes];
  std::fill(highest, highest + kLanes, least);
  size_t i = 0;
  for (; i + kLanes <= list.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double found = value(list[i + lane]);
      highest[lane] = found > highest[lane] ? found : highest[lane];
    }
  }
  for (; i < list.size(); ++i) highest[0] = std::max(highest[0], value(list[i]));
  return *std::max_element(highest, highest + kLanes);
}

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_HIGHEST_H_
