// TableMemory: where finished tables live.
//
// Zeroed pages straight from the kernel, so that 2 MB pages can be asked for
// and a table that is never touched costs nothing. Not for small things.
#ifndef TRELLIS_SRC_TRIE_TABLE_MEMORY_H_
#define TRELLIS_SRC_TRIE_TABLE_MEMORY_H_

#include <cstddef>
#include <memory>
#include <span>

namespace trellis::internal {

enum class PageSize : unsigned char { kDefault, kHuge };

struct UnmapTable {
  size_t bytes = 0;
  void operator()(void* p) const;
};

// Owns one mapping. Movable; empty after a move.
class TableMemory {
 public:
  TableMemory() = default;
  // At least `bytes` zero bytes. With kHuge the block is aligned to 2 MB and
  // the kernel is asked for 2 MB pages (MAP_HUGETLB when the pool has some, else
  // madvise); without either it quietly has small ones. Throws std::bad_alloc
  // when there is no memory at all, as operator new would.
  TableMemory(size_t bytes, PageSize pages);

  TableMemory(TableMemory&&) noexcept = default;
  TableMemory& operator=(TableMemory&&) noexcept = default;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  // Bytes of this block that are backed by 2 MB pages now, as the kernel tells
  // (smaps); 0 where it does not tell.
  size_t HugeBytes() const;

 private:
  std::unique_ptr<void, UnmapTable> mapping_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A fixed array, in TableMemory of its own or a view of finished elements that
// somebody else keeps (a mapped file); T must be fine as zero bytes.
template <typename T>
class Table {
 public:
  Table() = default;
  Table(size_t count, PageSize pages)
      : memory_(count * sizeof(T), pages), data_(reinterpret_cast<const T*>(memory_.data())), count_(count) {}
  explicit Table(std::span<const T> elements) : data_(elements.data()), count_(elements.size()) {}

  const T* data() const { return data_; }
  const T& operator[](size_t i) const { return data_[i]; }
  // Building only: not of a view.
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](size_t i) { return data()[i]; }

  size_t size() const { return count_; }
  std::span<const T> span() const { return {data_, count_}; }
  size_t bytes() const { return count_ * sizeof(T); }
  // Bytes of its own memory on 2 MB pages now.
  size_t HugeBytes() const { return memory_.HugeBytes(); }

 private:
  TableMemory memory_;
  const T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_TRIE_TABLE_MEMORY_H_
