#include "serve/engine/cuda/cublaslt.h"

#include <dlfcn.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {
namespace {

DeviceStatus StatusOf(int status) {
  switch (status) {
    case lt::kSuccess:
      return DeviceStatus::kOk;
    case lt::kNotInitialized:
      return DeviceStatus::kFatal;
    case lt::kAllocFailed:
      return DeviceStatus::kOutOfMemory;
    default:
      return DeviceStatus::kInvalid;
  }
}

// What dlerror says is gone after it was asked.
std::string LoaderError() {
  const char* const error = dlerror();
  return error != nullptr ? error : "no reason given";
}

}  // namespace

absl::StatusOr<std::unique_ptr<CublasLt>> CublasLt::Open(const std::string& path) {
  auto opened = std::unique_ptr<CublasLt>(new CublasLt);
  if (auto status = opened->Load(path); !status.ok()) return status;
  if (const int status = opened->api_.Create(&opened->handle_); status != lt::kSuccess) {
    return absl::UnavailableError(
        absl::StrCat("cublasLtCreate: status ", status, ", expected 0; is there a GPU?"));
  }
  return opened;
}

absl::Status CublasLt::Load(const std::string& path) {
  std::vector<std::string> names = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (!path.empty()) names = {path};
  std::string tried;
  for (const std::string& name : names) {
    library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) break;
    absl::StrAppend(&tried, tried.empty() ? "" : "; ", LoaderError());
  }
  if (library_ == nullptr) return absl::NotFoundError(absl::StrCat("cuBLASLt: ", tried));

  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library_, name));
    if (function == nullptr) missing = name;
  };
  find(api_.GetVersion, "cublasLtGetVersion");
  find(api_.Create, "cublasLtCreate");
  find(api_.Destroy, "cublasLtDestroy");
  find(api_.MatmulDescCreate, "cublasLtMatmulDescCreate");
  find(api_.MatmulDescDestroy, "cublasLtMatmulDescDestroy");
  find(api_.MatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  find(api_.MatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
  find(api_.MatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
  find(api_.MatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  find(api_.MatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  find(api_.MatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
  find(api_.MatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(api_.Matmul, "cublasLtMatmul");
  if (missing.empty()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("cuBLASLt: ", path.empty() ? "the library" : path, " has no ", missing));
}

CublasLt::~CublasLt() {
  for (auto& [shape, plan] : plans_) Destroy(plan);
  if (handle_ != nullptr) api_.Destroy(handle_);
  // The library stays: it has threads and exit handlers of its own.
}

void CublasLt::Destroy(Plan& plan) {
  for (const lt::Layout layout : {plan.weight, plan.input, plan.output}) {
    if (layout != nullptr) api_.MatrixLayoutDestroy(layout);
  }
  if (plan.product != nullptr) api_.MatmulDescDestroy(plan.product);
}

DeviceStatus CublasLt::Prepare(const GemmShape& shape) {
  if (IsPrepared(shape)) return DeviceStatus::kOk;
  Plan plan;
  int status = Describe(shape, plan);
  if (status == lt::kSuccess) status = Choose(plan);
  if (status == lt::kSuccess) {
    plans_.emplace(shape, plan);
  } else {
    Destroy(plan);
  }
  return StatusOf(status);
}

// The library thinks in columns: what is row-major here is the transpose there. So output^T = weight^T' *
// input^T, where weight, [n, k] by rows, is a k by n matrix by columns, and is transposed.
int CublasLt::Describe(const GemmShape& shape, Plan& plan) {
  const int type = shape.type == HalfType::kBf16 ? lt::k16BF : lt::k16F;
  int status = api_.MatmulDescCreate(&plan.product, lt::kCompute32F, lt::k32F);
  const auto set = [&](int attribute, int value) {
    if (status == lt::kSuccess) {
      status = api_.MatmulDescSetAttribute(plan.product, attribute, &value, sizeof value);
    }
  };
  set(lt::kTransposeA, lt::kTransposed);
  set(lt::kTransposeB, lt::kAsIs);
  const bool bias = shape.bias == GemmBias::kThere;
  set(lt::kEpilogue, bias ? lt::kEpilogueBias : lt::kEpilogueDefault);
  if (bias) set(lt::kBiasType, type);
  const auto lay_out = [&](lt::Layout& layout, int32_t rows, int32_t columns) {
    if (status != lt::kSuccess) return;
    status = api_.MatrixLayoutCreate(&layout, type, static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(columns), rows);
  };
  lay_out(plan.weight, shape.k, shape.n);
  lay_out(plan.input, shape.k, shape.m);
  lay_out(plan.output, shape.n, shape.m);
  return status;
}

int CublasLt::Choose(Plan& plan) {
  lt::Preference preference = nullptr;
  int status = api_.MatmulPreferenceCreate(&preference);
  const auto set = [&](int attribute, const auto& value) {
    if (status == lt::kSuccess) {
      status = api_.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
    }
  };
  set(lt::kMaxWorkspaceBytes, kGemmWorkspaceBytes);
  set(lt::kReductionSchemes, uint32_t{lt::kReduceComputeType});
  // Of where a matrix begins; how far its rows are apart, the layouts say. Buffers begin at multiples of
  // kAlignment.
  for (const int operand : {lt::kMinAlignmentA, lt::kMinAlignmentB, lt::kMinAlignmentC, lt::kMinAlignmentD}) {
    set(operand, uint32_t{16});
  }
  int found = 0;
  if (status == lt::kSuccess) {
    status = api_.MatmulAlgoGetHeuristic(handle_, plan.product, plan.weight, plan.input, plan.output,
                                         plan.output, preference, 1, &plan.chosen, &found);
  }
  if (preference != nullptr) api_.MatmulPreferenceDestroy(preference);
  if (status != lt::kSuccess) return status;
  return found == 1 ? plan.chosen.state : lt::kExecutionFailed;
}

DeviceStatus CublasLt::Run(lt::Stream stream, const GemmCall& call) {
  const auto found = plans_.find(call.shape);
  if (found == plans_.end() || call.workspace.size < found->second.chosen.workspace)
    return DeviceStatus::kInvalid;
  const Plan& plan = found->second;
  if (call.shape.bias == GemmBias::kThere) {
    const void* const bias = call.bias.data;
    const int status = api_.MatmulDescSetAttribute(plan.product, lt::kBiasPointer, &bias, sizeof bias);
    if (status != lt::kSuccess) return StatusOf(status);
  }
  const float alpha = 1, beta = 0;
  return StatusOf(api_.Matmul(handle_, plan.product, &alpha, call.weight.data, plan.weight, call.input.data,
                              plan.input, &beta, call.output.data, plan.output, call.output.data, plan.output,
                              &plan.chosen.algorithm, call.workspace.data, call.workspace.size, stream));
}

}  // namespace trellis::engine::cuda
