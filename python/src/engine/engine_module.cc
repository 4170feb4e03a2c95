// trellis._engine: what trellis/embedder.py asks of the CPU engine. A module of its own, so that who only
// tokenizes does not load oneDNN.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "python/src/engine/engine_arguments.h"
#include "python/src/engine/engine_model.h"
#include "python/src/numpy_array.h"
#include "python/src/raise.h"
#include "python/src/texts.h"

namespace trellis::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using engine::CpuEngineOptions;
using engine::RowTask;
using engine::Task;

// As many texts as fill a batch of the engine, or nearly: between two of these another thread may have its
// turn, and Ctrl-C is heard.
constexpr size_t kBytesAtATime = 65536;

class PyModel {
 public:
  PyModel(const std::filesystem::path& folder, const std::string& dtype, int threads)
      : options_(OptionsOf(folder, dtype, threads)), model_(Open()) {}
  ~PyModel() { LeaveIfForked(); }

  const EngineModel& operator*() const { return *model_; }
  const EngineModel* operator->() const { return model_.get(); }
  bool Has(Task task) const { return model_->limits().tasks[static_cast<size_t>(task)]; }

  Array2<float> Embed(nb::handle texts, nb::handle prompt, const std::string& pooling, bool normalize,
                      std::optional<int32_t> dimensions, std::optional<int64_t> max_length,
                      std::optional<int64_t> batch_size, nb::object progress) {
    if (!Has(Task::kEmbed)) {
      throw nb::value_error((options_.folder + ": a classifier, expected a model that embeds").c_str());
    }
    const int32_t most = model_->limits().dimensions;
    if (dimensions && (*dimensions < 1 || *dimensions > most)) {
      throw nb::value_error(("dimensions: " + std::to_string(*dimensions) + ", expected 1 to the model's " +
                             std::to_string(most))
                                .c_str());
    }
    const Texts batch(texts, "texts");
    CheckThatPairs(batch, false);
    EngineRequest request;
    request.prompt = TextOf(prompt, "prompt");
    request.task.pooling = PoolingOf(pooling);
    request.task.normalize = normalize ? engine::Normalize::kL2 : engine::Normalize::kNone;
    request.task.dimensions = dimensions.value_or(0);
    request.columns = static_cast<size_t>(dimensions.value_or(most));
    return Compute(batch, request, max_length, batch_size, progress);
  }

  // The model's own numbers for pairs, one a label.
  Array2<float> Logits(nb::handle pairs, std::optional<int64_t> max_length, std::optional<int64_t> batch_size,
                       nb::object progress) {
    if (!Has(Task::kClassify)) {
      throw nb::value_error((options_.folder + ": no classifier, expected a reranker").c_str());
    }
    const Texts batch(pairs, "pairs");
    CheckThatPairs(batch, true);
    EngineRequest request;
    request.task.task = Task::kClassify;
    request.columns = static_cast<size_t>(model_->limits().labels);
    return Compute(batch, request, max_length, batch_size, progress);
  }

 private:
  std::unique_ptr<EngineModel> Open() const {
    const auto open = [&] {
      const nb::gil_scoped_release released;
      return EngineModel::Open(options_);
    };
    return ValueOrRaise(open());
  }

  // Opened again in a process that a fork made.
  EngineModel& ModelHere() {
    if (model_->HasItsThreads()) return *model_;
    std::unique_ptr<EngineModel> opened = Open();
    if (!model_->HasItsThreads()) {  // else another thread of Python was faster
      LeaveIfForked();
      model_ = std::move(opened);
    }
    return *model_;
  }

  // Its threads are not here, and to end it waits for them; its memory is the parent's still, page by page.
  void LeaveIfForked() {
    if (!model_->HasItsThreads()) (void)model_.release();
  }

  Array2<float> Compute(const Texts& texts, EngineRequest& request, std::optional<int64_t> max_length,
                        std::optional<int64_t> batch_size, const nb::object& progress) {
    CheckAtLeast(1, batch_size, "batch_size");
    CheckAtLeast(0, max_length, "max_length");
    EngineModel& model = ModelHere();
    const int64_t limit = model.folder().max_tokens;
    request.inputs = texts.inputs();
    request.max_length = static_cast<size_t>(std::min(max_length.value_or(limit), limit));
    const size_t rows = texts.inputs().size();
    auto values = std::make_unique_for_overwrite<float[]>(rows * request.columns);
    for (size_t begin = 0; begin < rows;) {
      const size_t end = batch_size ? begin + std::min(rows - begin, static_cast<size_t>(*batch_size))
                                    : FullBatch(request, begin);
      float* const out = values.get() + begin * request.columns;
      const auto compute = [&] {
        const nb::gil_scoped_release released;
        return model.Compute(request, begin, end, out);
      };
      RaiseIfError(compute());
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none()) progress(end - begin);
      begin = end;
    }
    return ToNumpy(std::move(values), rows, request.columns);
  }

  static size_t FullBatch(const EngineRequest& request, size_t begin) {
    size_t end = begin, bytes = 0;
    while (end < request.inputs.size() && bytes < kBytesAtATime) {
      const Input& input = request.inputs[end++];
      bytes += request.prompt.size() + input.text.size() + input.pair.value_or(std::string_view()).size() + 1;
    }
    return end;
  }

  const CpuEngineOptions options_;
  std::unique_ptr<EngineModel> model_;
};

}  // namespace

NB_MODULE(_engine, module) {
  module.def("parse_options", &ParseOptions, "spec"_a,
             nb::sig("def parse_options(spec: str) -> tuple[str, str, int]"));
  nb::class_<PyModel>(module, "Model", "A model's folder on this machine's processor.")
      .def(nb::init<const std::filesystem::path&, const std::string&, int>(), "folder"_a, "dtype"_a = "auto",
           "threads"_a = 0)
      .def("embed", &PyModel::Embed, "texts"_a, nb::kw_only(), "prompt"_a = "", "pooling"_a = "model",
           "normalize"_a = false, "dimensions"_a = nb::none(), "max_length"_a = nb::none(),
           "batch_size"_a = nb::none(), "progress"_a = nb::none())
      .def("logits", &PyModel::Logits, "pairs"_a, nb::kw_only(), "max_length"_a = nb::none(),
           "batch_size"_a = nb::none(), "progress"_a = nb::none())
      .def_prop_ro(
          "dimensions", [](const PyModel& self) { return self->limits().dimensions; },
          "0: it does not embed.")
      .def_prop_ro(
          "labels", [](const PyModel& self) { return self->limits().labels; },
          "0: no classifier; 1: a reranker.")
      .def_prop_ro("max_tokens", [](const PyModel& self) { return self->folder().max_tokens; })
      .def_prop_ro("default_prompt_name",
                   [](const PyModel& self) { return self->folder().prompts.default_name; })
      .def_prop_ro("prompts", [](const PyModel& self) {
        const auto& prompts = self->folder().prompts.by_name;
        return std::map<std::string, std::string>(prompts.begin(), prompts.end());
      });
}

}  // namespace trellis::python
