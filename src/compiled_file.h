// The compiled file as a container: a header, a list of sections, the sections.
//
// All numbers are as the machine that wrote it has them; a machine of the other
// byte order refuses the file. A section is an array of plain elements that is
// used where it lies: it begins at a multiple of kSectionAlign, and holds no
// addresses. Each has a checksum, against damage, which is looked at when the
// section is taken, in one pass with what its reader asks of the elements: that is
// all there is against intent.
#ifndef TRELLIS_SRC_COMPILED_FILE_H_
#define TRELLIS_SRC_COMPILED_FILE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/file_bytes.h"

namespace trellis::internal {

enum class SectionId : uint32_t {
  kSpec,         // compiled_spec.h
  kPieceBegins,  // PieceColumns, one section each
  kPieceTexts,
  kPieceScores,
  kPieceTypes,
  kShielded,  // ids that the shield keeps out of text
  kByteTrie,  // BitmapTrieNode
  kAlphabet,  // WordPath's, from here on: one number
  kCodePointPages,
  kCodePoints,
  kRawSymbolPages,
  kRawSymbols,
  kReplacements,
  kReplacementSymbols,
  kSymbolTrie,  // CharUnit
  kWords,       // WordEntry
  kWordPilots,
};
inline constexpr size_t kSectionIds = 17;

inline constexpr size_t kSectionAlign = 64;

// Raised by whoever changes the header or the list.
inline constexpr uint32_t kCompiledVersion = 1;

class CompiledWriter {
 public:
  // `elements` must stay until Finish.
  template <typename T>
  void Add(SectionId id, std::span<const T> elements) {
    sections_.push_back({id, {reinterpret_cast<const char*>(elements.data()), elements.size_bytes()}});
  }
  std::string Finish() const;

 private:
  struct Section {
    SectionId id;
    std::string_view bytes;
  };
  std::vector<Section> sections_;
};

// A checksum over a section that comes in parts.
class SectionChecksum {
 public:
  SectionChecksum();
  ~SectionChecksum();
  SectionChecksum(const SectionChecksum&) = delete;
  SectionChecksum& operator=(const SectionChecksum&) = delete;
  void Add(std::string_view bytes);
  uint64_t Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Sections of bytes whose header and places have been checked.
class CompiledFile {
 public:
  // Errors name the byte or the section, and what was expected.
  static absl::StatusOr<CompiledFile> Open(FileBytes bytes);

  bool Has(SectionId id) const { return section(id).bytes.data() != nullptr; }
  // Where a section lies; nothing has been looked at yet.
  const char* Begin(SectionId id) const { return section(id).bytes.data(); }
  size_t Bytes(SectionId id) const { return section(id).bytes.size(); }
  // All elements, each of which right(element) is true of, or else it is said what
  // was expected of them.
  template <typename T, typename Right>
  absl::StatusOr<std::span<const T>> Elements(SectionId id, const Right& right,
                                              const std::string& expected) const {
    const std::string_view bytes = section(id).bytes;
    if (bytes.data() == nullptr) return Missing(id);
    if (bytes.size() % sizeof(T) != 0) return Uneven(id, sizeof(T));
    const std::span elements(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
    constexpr size_t kPart = (size_t{64} << 10) / sizeof(T);  // stays in the first caches for both
    SectionChecksum checksum;
    bool all = true;
    for (size_t at = 0; at < elements.size(); at += kPart) {
      const auto part = elements.subspan(at, std::min(kPart, elements.size() - at));
      checksum.Add({reinterpret_cast<const char*>(part.data()), part.size_bytes()});
      for (const T& element : part) all &= right(element);
    }
    if (absl::Status status = Compare(id, checksum.Finish()); !status.ok()) return status;
    if (all) return elements;
    const auto wrong = std::find_if_not(elements.begin(), elements.end(), right);
    return WrongElement(id, static_cast<size_t>(wrong - elements.begin()), "another value", expected);
  }
  template <typename T>
  absl::StatusOr<std::span<const T>> Elements(SectionId id) const {
    return Elements<T>(
        id, [](const T&) { return true; }, "");
  }
  // An error in a section: `section NAME: what`.
  static absl::Status Wrong(SectionId id, const std::string& what);
  // The same of its element i.
  static absl::Status WrongElement(SectionId id, size_t i, const std::string& value,
                                   const std::string& expected);

  const FileBytes& bytes() const { return bytes_; }

 private:
  explicit CompiledFile(FileBytes bytes) : bytes_(std::move(bytes)) {}
  struct Section {
    std::string_view bytes;
    uint64_t checksum = 0;
  };
  const Section& section(SectionId id) const { return sections_[static_cast<size_t>(id)]; }
  absl::Status Compare(SectionId id, uint64_t checksum) const;
  absl::Status Missing(SectionId id) const;
  absl::Status Uneven(SectionId id, size_t element) const;

  FileBytes bytes_;
  Section sections_[kSectionIds] = {};
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_COMPILED_FILE_H_
