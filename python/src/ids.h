// Token ids that Python hands in: a list of numbers, or an array.
#ifndef TRELLIS_PYTHON_IDS_H_
#define TRELLIS_PYTHON_IDS_H_

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "trellis/encoding.h"

namespace trellis::python {

// `place` is how errors name the argument: TypeError where it is no row of whole numbers, ValueError for a
// number that no id can be.
std::vector<TokenId> IdsOf(nanobind::handle ids, const std::string& place);

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_IDS_H_
