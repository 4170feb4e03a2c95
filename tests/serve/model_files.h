// Model folders for tests: temporary ones, and files made by hand.
#ifndef TRELLIS_TESTS_SERVE_MODEL_FILES_H_
#define TRELLIS_TESTS_SERVE_MODEL_FILES_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace trellis::testing {

// Of the tiny models that tools/make_tiny_models wrote.
inline std::string TinyModel(std::string_view name) {
  return std::string(TRELLIS_SOURCE_DIR "/tests/serve/models/") + std::string(name);
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string form = ::testing::TempDir() + "trellis_model_XXXXXX";
    if (mkdtemp(form.data()) == nullptr) ADD_FAILURE() << form << ": cannot be made";
    path_ = form;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view file) const { return path_ + "/" + std::string(file); }

  void Write(std::string_view file, std::string_view bytes) const {
    const std::filesystem::path at = *this / file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream out(at, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.good()) << at;
  }
  // All of a tiny model but its weights, unless they are wanted.
  enum class Copy { kAll, kWithoutWeights };
  void CopyModel(std::string_view name, Copy copy = Copy::kWithoutWeights) const {
    namespace fs = std::filesystem;
    fs::copy(TinyModel(name), path_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    if (copy == Copy::kWithoutWeights) fs::remove(*this / "model.safetensors");
  }
  std::string Read(std::string_view file) const {
    std::ifstream in(*this / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // Replaces text that must be there once.
  void Edit(std::string_view file, std::string_view from, std::string_view to) const {
    std::string text = Read(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << file << ": " << from;
    ASSERT_EQ(text.find(from, at + 1), std::string::npos) << file << ": " << from << " is there twice";
    Write(file, text.replace(at, from.size(), to));
  }

 private:
  std::string path_;
};

// A safetensors file: the header's length, the header, the tensors' bytes.
inline std::string Safetensors(std::string_view header, std::string_view bytes) {
  const uint64_t length = header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file.append(header).append(bytes);
}

}  // namespace trellis::testing

#endif  // TRELLIS_TESTS_SERVE_MODEL_FILES_H_
