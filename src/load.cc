// Files and folders: look at the bytes, pick one parser.
#include "trellis/load.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace trellis {
namespace {

namespace fs = std::filesystem;

absl::Status At(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), path + ": " + std::string(status.message()));
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error)
    return absl::NotFoundError(path + ": cannot be opened (" + error.message() + "), expected a file");
  // Of a folder or device a stream says any size.
  if (!fs::is_regular_file(status)) return absl::InvalidArgumentError(path + ": no plain file, expected one");
  const uintmax_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) return absl::PermissionDeniedError(path + ": cannot be opened, expected a readable file");
  std::string bytes(size, '\0');
  if (!in.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return absl::DataLossError(path + ": cannot be read to its end, expected " + std::to_string(size) +
                               " bytes");
  }
  return bytes;
}

// The file of a folder: its tokenizer.json, else its only .model or .trellis.
absl::StatusOr<std::string> FileInFolder(const std::string& folder) {
  std::error_code error;
  const fs::path json = fs::path(folder) / "tokenizer.json";
  if (fs::exists(json, error)) return json.string();
  std::vector<std::string> models;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const fs::path extension = it->path().extension();
    if ((extension == ".model" || extension == ".trellis") && it->is_regular_file(ignored))
      models.push_back(it->path().string());
  }
  if (error) return absl::NotFoundError(folder + ": cannot be listed (" + error.message() + ")");
  std::sort(models.begin(), models.end());
  if (models.empty()) {
    return absl::NotFoundError(folder + ": no tokenizer.json and no .model inside, expected one of them, or a .trellis");
  }
  if (models.size() > 1) {
    return absl::InvalidArgumentError(folder + ": " + models[0] + " and " + models[1] +
                                      ", expected one .model or .trellis, or a tokenizer.json; name the file instead");
  }
  return models[0];
}

// An object's first key or its end follows the brace. A brace alone can also be
// the length of a ModelProto's first piece, after the tag that is a line feed.
bool LooksLikeJson(std::string_view bytes) {
  constexpr std::string_view kBlanks = " \t\r\n";
  constexpr std::string_view kByteOrderMark =
      "\xEF\xBB\xBF";  // ParseTokenizerJson says what is wrong with it
  if (bytes.substr(0, kByteOrderMark.size()) == kByteOrderMark) bytes.remove_prefix(kByteOrderMark.size());
  const size_t brace = bytes.find_first_not_of(kBlanks);
  if (brace == std::string_view::npos || bytes[brace] != '{') return false;
  const size_t next = bytes.find_first_not_of(kBlanks, brace + 1);
  return next == std::string_view::npos || bytes[next] == '"' || bytes[next] == '}';
}

bool IsCompiled(const std::string& path) {
  char front[kCompiledFileMark.size()];
  std::ifstream in(path, std::ios::binary);
  return in.read(front, sizeof front) && std::string_view(front, sizeof front) == kCompiledFileMark;
}

// What `path` stands for.
absl::StatusOr<std::string> FileAt(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? FileInFolder(path) : path;
}

absl::StatusOr<TokenizerSpec> ParseFile(const std::string& file, const LoadOptions& options) {
  absl::StatusOr<std::string> bytes = ReadWholeFile(file);
  if (!bytes.ok()) return bytes.status();
  if (bytes->empty())
    return absl::InvalidArgumentError(file + ": empty, expected a tokenizer.json or a .model");
  const bool json = LooksLikeJson(*bytes);
  absl::StatusOr<TokenizerSpec> spec =
      json ? ParseTokenizerJson(*bytes) : ParseSentencePieceModel(*bytes, options.sentencepiece);
  if (spec.ok()) return spec;
  if (json) return At(file, spec.status());
  return At(file + ": no tokenizer.json (those start with \"{\"), and as a SentencePiece model",
            spec.status());
}

}  // namespace

absl::StatusOr<TokenizerSpec> LoadSpec(const std::string& path, const LoadOptions& options) {
  const absl::StatusOr<std::string> file = FileAt(path);
  if (!file.ok()) return file.status();
  if (!IsCompiled(*file)) return ParseFile(*file, options);
  const absl::StatusOr<Tokenizer> tokenizer = MapTokenizer(*file);
  if (!tokenizer.ok()) return tokenizer.status();
  return tokenizer->spec();
}

absl::StatusOr<Tokenizer> LoadTokenizer(const std::string& path, const LoadOptions& options) {
  const absl::StatusOr<std::string> file = FileAt(path);
  if (!file.ok()) return file.status();
  if (IsCompiled(*file)) return MapTokenizer(*file, options.tokenizer);
  absl::StatusOr<TokenizerSpec> spec = ParseFile(*file, options);
  if (!spec.ok()) return spec.status();
  absl::StatusOr<Tokenizer> tokenizer = Tokenizer::Create(*std::move(spec), options.tokenizer);
  if (!tokenizer.ok()) return At(path, tokenizer.status());
  return tokenizer;
}

}  // namespace trellis
