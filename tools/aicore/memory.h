// The memories of one AI Core, each with its own rules, and global memory as a set of regions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fault.h"
#include "race.h"

namespace flagc::aicore {

// Fills on-chip memory before each block: a NaN as fp16, as bf16 and as fp32.
constexpr std::uint16_t kPoison = 0x7FAB;

// Why bits are undefined: nobody wrote their byte; a scalar load outside the tensors; made of such.
enum class Origin : std::uint8_t { kUnwritten, kSpeculative, kDerived };

// Bytes of a memory. `undefined` has the undefined bits of each byte, and is null when there are none.
struct View {
  const std::uint8_t* data = nullptr;
  const std::uint8_t* undefined = nullptr;
  const std::uint8_t* origins = nullptr;
  Origin origin(std::uint64_t byte) const { return static_cast<Origin>(origins[byte]); }
};

enum class Space { kGm = 1, kL1 = 2, kL0A = 3, kL0B = 4, kL0C = 5, kUb = 6, kFb = 7, kBt = 8 };

class Memory {
 public:
  Memory(const char* name, std::size_t size, std::size_t alignment);

  // Addresses are offsets, as on the chip. Throws Fault when the range leaves the memory.
  void require_inside(std::uint64_t address, std::uint64_t bytes) const {
    if (address > size_ || bytes > size_ - address) leaves(address, bytes);
  }

  // Checked access. `alignment` 0 takes the memory's own.
  const std::uint8_t* read(std::uint64_t address, std::uint64_t bytes,
                           std::size_t alignment = 0) const;
  std::uint8_t* write(std::uint64_t address, std::uint64_t bytes, std::size_t alignment = 0);

  // Like `read`, of elements whose bits may be undefined. An element of which nobody wrote a byte is a
  // fault, as a read of it alone would be.
  View view(std::uint64_t address, std::uint64_t bytes, std::uint64_t element,
            std::size_t alignment = 0) const;
  // For instructions that read more than they use: whatever is there.
  View peek(std::uint64_t address, std::uint64_t bytes) const;

  // Up to 32 bytes that an instruction reads and the program may not mean: a race is no fault, but makes
  // all bits undefined, and whoever writes there later need not wait for this.
  View glance(std::uint64_t address, std::uint64_t bytes) const;

  // True when every bit is defined.
  bool defined(std::uint64_t address, std::uint64_t bytes) const;
  // Copies within the memory; what is undefined stays so.
  void move(std::uint64_t target, std::uint64_t source, std::uint64_t bytes);
  // Bytes that an instruction leaves as if nobody had written them.
  void scramble(std::uint64_t address, std::uint64_t bytes);
  // Bits of bytes that were just written become undefined; `bits` null means all.
  void mark(std::uint64_t address, std::uint64_t bytes, const std::uint8_t* bits = nullptr,
            Origin origin = Origin::kDerived);

  void require_aligned(std::uint64_t address, std::size_t alignment) const;
  // Fill with kPoison, all of it undefined; without checks the contents stay.
  void reset(bool checks);

  // Where compiled code finds the byte at address 0.
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(data_.get()); }
  std::size_t size() const { return size_; }
  const char* name() const { return name_; }
  // Watch accesses for races; `clocks` belongs to the core.
  void watch(const PipeClocks* clocks);
  // Bytes moved by the current instruction, for the trace.
  mutable std::uint64_t bytes_read = 0;
  mutable std::uint64_t bytes_written = 0;

 private:
  struct Free {
    void operator()(std::uint8_t* pointer) const;
  };
  void touch(std::uint64_t begin, std::uint64_t bytes) {
    touched_begin_ = std::min(touched_begin_, begin);
    touched_end_ = std::max(touched_end_, begin + bytes);
  }
  bool all_defined(std::uint64_t begin, std::uint64_t bytes) const;
  View view_of(std::uint64_t begin, std::uint64_t bytes) const;
  void check_alignment(std::uint64_t begin, std::size_t alignment) const;
  [[noreturn]] void leaves(std::uint64_t address, std::uint64_t bytes) const;
  [[noreturn]] void unwritten(std::uint64_t at, std::uint64_t begin, std::uint64_t bytes) const;
  [[noreturn]] void poison(std::uint64_t at) const;
  void note(std::uint64_t begin, std::uint64_t bytes, bool write) const;

  const char* name_;
  std::size_t size_;
  std::size_t alignment_;
  bool checks_ = true;
  std::uint64_t touched_begin_ = 0, touched_end_;  // covers what was written since `reset`
  const PipeClocks* clocks_ = nullptr;
  std::unique_ptr<AccessLog> log_;
  std::unique_ptr<std::uint8_t, Free> data_;
  std::unique_ptr<std::uint8_t, Free> undefined_;  // a bit for each bit
  std::unique_ptr<std::uint8_t, Free> origins_;    // an Origin for each byte with undefined bits
};

// A tensor (or workspace) in global memory.
struct Region {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  bool writable = true;
  bool scratch = false;  // the launch's workspace: undefined values may go there, as long as nobody uses them
  std::string name;
};

class GlobalMemory {
 public:
  // With `checks` the undefined bits of workspace are followed; all are at the beginning.
  GlobalMemory(std::vector<Region> regions, bool checks);
  const std::uint8_t* read(std::uint64_t address, std::uint64_t bytes) const;
  std::uint8_t* write(std::uint64_t address, std::uint64_t bytes) const;
  // For stores that add to what is there: it stays as undefined as it is.
  std::uint8_t* update(std::uint64_t address, std::uint64_t bytes) const;
  // The undefined bits of bytes that `contains` holds for; null when there are none.
  const std::uint8_t* undefined(std::uint64_t address, std::uint64_t bytes) const;
  // Bits of workspace that was just written become undefined; `bits` null means all.
  void mark(std::uint64_t address, std::uint64_t bytes, const std::uint8_t* bits = nullptr) const;
  // Whether a tensor has the whole range, and if not, where the range lies.
  bool contains(std::uint64_t address, std::uint64_t bytes) const { return lookup(address, bytes) != nullptr; }
  std::string place(std::uint64_t address) const;
  // The part of a range that one tensor has: the tensor at its beginning, or the next one.
  std::pair<std::uint64_t, std::uint64_t> part_inside(std::uint64_t address, std::uint64_t bytes) const;
  bool scratch(std::uint64_t address, std::uint64_t bytes) const {
    return find(address, bytes, "writes").scratch;
  }

 private:
  const Region* lookup(std::uint64_t address, std::uint64_t bytes) const;
  const Region& find(std::uint64_t address, std::uint64_t bytes, const char* verb) const;
  std::uint8_t* shadow(const Region& region, std::uint64_t address) const;
  std::vector<Region> regions_;                            // by address
  std::vector<std::unique_ptr<std::uint8_t[]>> shadows_;  // a bit for each bit of workspace
};

}  // namespace flagc::aicore
