#include "serve/engine/weights.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "serve/engine/json_file.h"
#include "serve/engine/mapped_file.h"
#include "serve/engine/safetensors_reader.h"

namespace trellis::engine {
namespace {

namespace fs = std::filesystem;

constexpr char kOneFile[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

// Of what a tensor was asked for, -1 is any extent.
std::string Shown(std::span<const int64_t> shape) {
  return absl::StrCat("[",
                      absl::StrJoin(shape, ",",
                                    [](std::string* out, int64_t extent) {
                                      absl::StrAppend(out, extent < 0 ? "any" : absl::StrCat(extent));
                                    }),
                      "]");
}

}  // namespace

struct Weights::Files {
  struct Listed {
    Tensor tensor;
    std::string_view dtype;  // the file's, which Tensor may be unable to say
    std::string file;
  };

  absl::Status Add(const std::string& path);
  absl::Status AddShards(const std::string& folder);
  const Listed* Find(std::string_view name) const;

  std::string place;  // for messages about what is not there
  std::vector<MappedFile> maps;
  std::vector<Listed> tensors;  // sorted by name once all are there
};

absl::Status Weights::Files::Add(const std::string& path) {
  absl::StatusOr<MappedFile> map = MappedFile::Open(path);
  if (!map.ok()) return map.status();
  absl::StatusOr<std::vector<SafetensorsEntry>> entries = ReadSafetensors(map->bytes(), path);
  if (!entries.ok()) return entries.status();
  for (SafetensorsEntry& entry : *entries) {
    Listed& listed = tensors.emplace_back();
    listed.tensor.name = std::move(entry.name);
    listed.tensor.shape = std::move(entry.shape);
    listed.tensor.bytes = entry.bytes;
    listed.dtype = entry.dtype;
    listed.file = path;
    for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
      if (entry.dtype == NameOf(dtype)) listed.tensor.dtype = dtype;
    }
  }
  maps.push_back(*std::move(map));
  return absl::OkStatus();
}

absl::Status Weights::Files::AddShards(const std::string& folder) {
  const std::string index = (fs::path(folder) / kIndex).string();
  absl::StatusOr<JsonFile> json = JsonFile::Read(index);
  if (!json.ok()) return json.status();
  std::map<std::string, std::string> file_of;  // by tensor
  std::map<std::string, size_t> shards;        // their tensors by the index
  const JsonNode weight_map = json->root().Child("weight_map");
  for (const auto& [name, node] : weight_map.Fields()) {
    const std::string file = node.Text();
    if (file.empty() || file.find('/') != std::string::npos || !file.ends_with(".safetensors")) {
      weight_map.Fail(node.Wrong("", "the name of a .safetensors file in the same folder"));
    }
    file_of[name] = file;
    ++shards[file];
  }
  if (!json->status().ok()) return json->status();
  for (const auto& [file, count] : shards) {
    const size_t before = tensors.size();
    const std::string path = (fs::path(folder) / file).string();
    const absl::Status added = Add(path);
    if (absl::IsNotFound(added)) {
      return absl::InvalidArgumentError(
          absl::StrCat(index, ": weight_map: names ", file, ", expected it to be there"));
    }
    if (!added.ok()) return added;
    for (size_t i = before; i < tensors.size(); ++i) {
      const auto known = file_of.find(tensors[i].tensor.name);
      if (known == file_of.end() || known->second != file) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": tensor ", tensors[i].tensor.name, ": expected what ", kIndex,
                         " says of it: ", known == file_of.end() ? "nothing" : known->second));
      }
    }
    if (tensors.size() - before != count) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": ", tensors.size() - before, " tensors, expected the ", count, " that ", kIndex, " says"));
    }
  }
  return absl::OkStatus();
}

const Weights::Files::Listed* Weights::Files::Find(std::string_view name) const {
  const auto find = [this](std::string_view wanted) -> const Listed* {
    const auto it = std::lower_bound(tensors.begin(), tensors.end(), wanted,
                                     [](const Listed& a, std::string_view b) { return a.tensor.name < b; });
    return it != tensors.end() && it->tensor.name == wanted ? &*it : nullptr;
  };
  if (const Listed* found = find(name)) return found;
  // Checkpoints that once came from TensorFlow still call a LayerNorm's weight gamma and its bias beta.
  for (const auto& [now, once] :
       {std::pair<std::string_view, std::string_view>{"LayerNorm.weight", "LayerNorm.gamma"},
        {"LayerNorm.bias", "LayerNorm.beta"}}) {
    if (name.ends_with(now)) return find(std::string(name.substr(0, name.size() - now.size())).append(once));
  }
  return nullptr;
}

absl::StatusOr<Weights> Weights::Open(const std::string& path) {
  auto files = std::make_unique<Files>();
  files->place = path;
  std::error_code error;
  absl::Status added;
  if (!fs::is_directory(path, error)) {
    added = files->Add(path);
  } else if (const fs::path one = fs::path(path) / kOneFile; fs::exists(one, error)) {
    files->place = one.string();
    added = files->Add(one.string());
  } else if (fs::exists(fs::path(path) / kIndex, error)) {
    added = files->AddShards(path);
  } else {
    added = absl::NotFoundError(
        absl::StrCat(path, ": neither ", kOneFile, " nor ", kIndex, " inside, expected one of them"));
  }
  if (!added.ok()) return added;
  std::sort(files->tensors.begin(), files->tensors.end(),
            [](const Files::Listed& a, const Files::Listed& b) { return a.tensor.name < b.tensor.name; });
  return Weights(std::move(files));
}

Weights::Weights(std::unique_ptr<Files> files) : files_(std::move(files)) {}
Weights::Weights(Weights&&) noexcept = default;
Weights& Weights::operator=(Weights&&) noexcept = default;
Weights::~Weights() = default;

bool Weights::Has(std::string_view name) const { return files_->Find(name) != nullptr; }

absl::StatusOr<const Tensor*> Weights::Find(std::string_view name, std::span<const int64_t> shape) const {
  const Files::Listed* found = files_->Find(name);
  if (found == nullptr) {
    return absl::NotFoundError(absl::StrCat(files_->place, ": tensor ", std::string(name),
                                            ": missing, expected one of shape ", Shown(shape)));
  }
  const Tensor& tensor = found->tensor;
  const auto wrong = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(found->file, ": tensor ", tensor.name, ": ", what));
  };
  if (found->dtype != NameOf(tensor.dtype)) {
    return wrong(absl::StrCat(std::string(found->dtype), ", expected F32, F16 or BF16"));
  }
  const bool fits = std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end(),
                               [](int64_t is, int64_t wanted) { return wanted < 0 || is == wanted; });
  if (!fits) return wrong(absl::StrCat("shape ", Shown(tensor.shape), ", expected ", Shown(shape)));
  if (const int64_t at = tensor.FirstNotFinite(); at >= 0) {
    return wrong(absl::StrCat("element ", at, " is no finite number, expected all to be"));
  }
  return &tensor;
}

std::vector<std::string_view> Weights::names() const {
  std::vector<std::string_view> names;
  for (const Files::Listed& listed : files_->tensors) names.push_back(listed.tensor.name);
  return names;
}

}  // namespace trellis::engine
