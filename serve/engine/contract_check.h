// Whether a caller keeps the contract in engine.h, for engines that do not trust it: the CPU engine, which would read
// somebody else's memory, and the synthetic one, which is there to watch.
#ifndef TRELLIS_SERVE_ENGINE_CONTRACT_CHECK_H_
#define TRELLIS_SERVE_ENGINE_CONTRACT_CHECK_H_

#include <cstdint>
#include <string>

#include "serve/engine/engine.h"

namespace trellis::engine {

// Empty, or what is wrong with the batch: field, value and what was expected.
std::string BatchBreach(const PackedBatch& batch, const EngineLimits& limits);

// Of everything that the batch's spans show, to see later whether it is still the same.
uint64_t Fingerprint(const PackedBatch& batch);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_CONTRACT_CHECK_H_
