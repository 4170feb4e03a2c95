// What is served here, for GET: /v1/models and /info.
#ifndef TRELLIS_SERVE_GATEWAY_MODEL_PAGES_H_
#define TRELLIS_SERVE_GATEWAY_MODEL_PAGES_H_

#include <string>

#include "serve/gateway/served_model.h"

namespace trellis::gateway {

std::string WriteModels(const ServedModel& model);
std::string WriteInfo(const ServedModel& model);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_MODEL_PAGES_H_
