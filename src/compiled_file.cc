#include "src/compiled_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <utility>

#include "src/spec_errors.h"
#include "trellis/load.h"

namespace trellis::internal {
namespace {

struct Header {
  char mark[8];  // kCompiledFileMark
  uint32_t byte_order;
  uint32_t version;
  uint64_t file_bytes;
  uint32_t section_count;
  uint32_t zero;
  uint64_t checksum;  // of this header, where the field itself is 0, and the list of sections
};
static_assert(sizeof(Header) == 40 && kCompiledFileMark.size() == 8);

struct Entry {
  uint32_t id;
  uint32_t revision;
  uint64_t begin;
  uint64_t bytes;
  uint64_t checksum;
};
static_assert(sizeof(Entry) == 32);

constexpr uint32_t kByteOrder = 0x01020304;
constexpr uint32_t kOtherByteOrder = 0x04030201;

// A section's revision is raised by whoever changes what its elements mean, be it
// a layout, a hash, the order of the alphabet or Unicode's tables.
struct Known {
  std::string_view name;
  uint32_t revision;
};
constexpr Known kKnown[kSectionIds] = {
    {"spec", 1},
    {"piece begins", 1},
    {"piece texts", 1},
    {"piece scores", 1},
    {"piece types", 1},
    {"shielded", 1},
    {"byte trie", 1},
    {"alphabet", 1},
    {"code point pages", 1},
    {"code points", 1},
    {"raw symbol pages", 1},
    {"raw symbols", 1},
    {"replacements", 1},
    {"replacement symbols", 1},
    {"symbol trie", 1},
    {"words", 1},
    {"word pilots", 1},
};

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// Of the header and the list of sections.
uint64_t HeadChecksum(Header header, std::string_view list) {
  header.checksum = 0;
  return XXH3_64bits_withSeed(list.data(), list.size(), XXH3_64bits(&header, sizeof header));
}

size_t RoundUp(size_t n) { return (n + kSectionAlign - 1) / kSectionAlign * kSectionAlign; }

std::string Hex(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out(16, '0');
  for (size_t i = out.size(); i-- > 0; value >>= 4) out[i] = kDigits[value & 15];
  return out;
}

absl::Status At(const std::string& place, const std::string& value, const std::string& expected) {
  return absl::InvalidArgumentError(place + ": " + value + ", expected " + expected);
}

constexpr char kAnother[] = ": another version of trellis wrote this file, compile the model again";

absl::Status CheckHeader(const Header& header, std::string_view file) {
  if (header.byte_order == kOtherByteOrder) {
    return At("byte 8", "the other byte order", "this machine's: compile the model again here");
  }
  if (header.byte_order != kByteOrder) return At("byte 8", Hex(header.byte_order), Hex(kByteOrder));
  if (header.version != kCompiledVersion) {
    return At("byte 12", "version " + std::to_string(header.version),
              std::to_string(kCompiledVersion) + kAnother);
  }
  if (header.file_bytes != file.size()) {
    return At("byte 16", "a file of " + std::to_string(header.file_bytes) + " bytes",
              "the " + std::to_string(file.size()) + " that there are");
  }
  if (header.section_count > kSectionIds) {
    return At("byte 24", std::to_string(header.section_count) + " sections",
              "at most " + std::to_string(kSectionIds));
  }
  return absl::OkStatus();
}

}  // namespace

struct SectionChecksum::State {
  XXH3_state_t xxh3;
};
SectionChecksum::SectionChecksum() : state_(new State) { XXH3_64bits_reset(&state_->xxh3); }
SectionChecksum::~SectionChecksum() = default;
void SectionChecksum::Add(std::string_view bytes) {
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
}
uint64_t SectionChecksum::Finish() const { return XXH3_64bits_digest(&state_->xxh3); }

std::string CompiledWriter::Finish() const {
  std::vector<Entry> entries;
  size_t end = RoundUp(sizeof(Header) + sections_.size() * sizeof(Entry));
  for (const Section& section : sections_) {
    entries.push_back({static_cast<uint32_t>(section.id), kKnown[static_cast<size_t>(section.id)].revision,
                       end, section.bytes.size(), Checksum(section.bytes)});
    end = RoundUp(end + section.bytes.size());
  }
  const std::string_view list(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry));
  Header header = {{}, kByteOrder, kCompiledVersion, end, static_cast<uint32_t>(entries.size()), 0, 0};
  kCompiledFileMark.copy(header.mark, sizeof header.mark);
  header.checksum = HeadChecksum(header, list);

  std::string file(end, '\0');
  std::memcpy(file.data(), &header, sizeof header);
  list.copy(file.data() + sizeof header, list.size());
  for (size_t i = 0; i < sections_.size(); ++i)
    sections_[i].bytes.copy(file.data() + entries[i].begin, entries[i].bytes);
  return file;
}

absl::StatusOr<CompiledFile> CompiledFile::Open(FileBytes bytes) {
  CompiledFile out(std::move(bytes));
  const std::string_view file = out.bytes_.bytes();
  Header header;
  if (file.size() < sizeof header) {
    return At("byte " + std::to_string(file.size()), "the end",
              "a header of " + std::to_string(sizeof header) + " bytes");
  }
  std::memcpy(&header, file.data(), sizeof header);
  if (!file.starts_with(kCompiledFileMark))
    return At("byte 0", "other bytes", "the mark of a compiled model");
  if (absl::Status status = CheckHeader(header, file); !status.ok()) return status;
  const size_t list_bytes = header.section_count * sizeof(Entry);
  if (file.size() - sizeof header < list_bytes) {
    return At("byte " + std::to_string(sizeof header), "a list of sections beyond the end",
              std::to_string(list_bytes) + " bytes");
  }
  const std::string_view list = file.substr(sizeof header, list_bytes);
  if (const uint64_t found = HeadChecksum(header, list); found != header.checksum) {
    return At("byte 0", "header and list of sections with the checksum " + Hex(found),
              Hex(header.checksum) + ": the file is damaged");
  }
  for (size_t i = 0; i < header.section_count; ++i) {
    Entry entry;
    std::memcpy(&entry, list.data() + i * sizeof entry, sizeof entry);
    const std::string place = "byte " + std::to_string(sizeof header + i * sizeof entry);
    if (entry.id >= kSectionIds) {
      return At(place, "section " + std::to_string(entry.id),
                "one below " + std::to_string(kSectionIds) + kAnother);
    }
    const auto id = static_cast<SectionId>(entry.id);
    if (entry.revision != kKnown[entry.id].revision) {
      return Wrong(id, "revision " + std::to_string(entry.revision) + ", expected " +
                           std::to_string(kKnown[entry.id].revision) + kAnother);
    }
    if (out.Has(id)) return Wrong(id, "there twice, expected once");
    if (entry.begin % kSectionAlign != 0 || entry.begin > file.size() ||
        entry.bytes > file.size() - entry.begin) {
      return Wrong(id, "bytes " + std::to_string(entry.begin) + " and " + std::to_string(entry.bytes) +
                           " more, expected a multiple of " + std::to_string(kSectionAlign) +
                           ", inside the file's " + std::to_string(file.size()));
    }
    out.sections_[entry.id] = {file.substr(entry.begin, entry.bytes), entry.checksum};
  }
  return out;
}

absl::Status CompiledFile::Compare(SectionId id, uint64_t checksum) const {
  if (checksum == section(id).checksum) return absl::OkStatus();
  const auto begin = static_cast<size_t>(section(id).bytes.data() - bytes_.bytes().data());
  return Wrong(id, "bytes from " + std::to_string(begin) + " on have the checksum " + Hex(checksum) +
                       ", expected " + Hex(section(id).checksum) + ": the file is damaged");
}

absl::Status CompiledFile::Wrong(SectionId id, const std::string& what) {
  return absl::InvalidArgumentError("section " + std::string(kKnown[static_cast<size_t>(id)].name) + ": " +
                                    what);
}

absl::Status CompiledFile::WrongElement(SectionId id, size_t i, const std::string& value,
                                        const std::string& expected) {
  return Wrong(id, Index("", i) + ": " + value + ", expected " + expected);
}

absl::Status CompiledFile::Missing(SectionId id) const { return Wrong(id, "not there, expected one"); }

absl::Status CompiledFile::Uneven(SectionId id, size_t element) const {
  return Wrong(id, std::to_string(section(id).bytes.size()) + " bytes, expected a multiple of " +
                       std::to_string(element));
}

}  // namespace trellis::internal
