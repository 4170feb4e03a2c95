// What a machine's driver says of its GPUs, and whether the one that is wanted can be had.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_DEVICES_FOUND_H_
#define TRELLIS_SERVE_ENGINE_CUDA_DEVICES_FOUND_H_

#include <string>

#include "absl/status/status.h"

namespace trellis::engine::cuda {

// How to run all the same, for the end of an error.
inline constexpr char kWithoutGpu[] =
    "; without a GPU, --device cpu (or --engine cpu:FOLDER) runs the model on the processor";

struct DevicesFound {
  int driver = 0;   // the newest CUDA that the driver knows, 13000 for 13.0; 0: no driver
  int runtime = 0;  // the CUDA that this program was built with
  int devices = 0;
  std::string error;     // the runtime's own word for what is wrong; empty: nothing
  int architecture = 0;  // of the one that is wanted: compute capability 9.0 is 90
};

// FailedPrecondition: no driver, one too old, no GPU, no GPU of this number, or one too old; each by name,
// with what was expected.
absl::Status CheckDevices(int ordinal, const DevicesFound& found);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_DEVICES_FOUND_H_
