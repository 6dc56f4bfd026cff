#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>

namespace flagc::aicore {

namespace {

constexpr std::size_t kPage = 4096;

std::uint8_t* allocate(std::size_t bytes) {
  void* pointer = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (pointer == nullptr) throw std::bad_alloc();
  return static_cast<std::uint8_t*>(pointer);
}

std::string hexadecimal(std::uint64_t value) {
  std::ostringstream out;
  out << "0x" << std::hex << value;
  return out.str();
}

}  // namespace

void Memory::Free::operator()(std::uint8_t* pointer) const { std::free(pointer); }

Memory::Memory(const char* name, std::size_t size, std::size_t alignment)
    : name_(name), size_(size), alignment_(alignment), data_(allocate(size)),
      written_(allocate(size)) {}

void Memory::reset(bool checks) {
  checks_ = checks;
  if (!checks) return;
  std::fill_n(reinterpret_cast<std::uint16_t*>(data_.get()), size_ / 2, kPoison);
  std::memset(written_.get(), 0, size_);
}

std::uint64_t Memory::offset(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t start = address >= size_ ? address - base() : address;
  if (start > size_ || bytes > size_ - start) {
    std::ostringstream text;
    text << bytes << " bytes at " << hexadecimal(start) << " leave " << name_ << ", which has "
         << size_ << " bytes";
    throw Fault{"out-of-bounds", text.str(), name_, start, bytes};
  }
  return start;
}

void Memory::require_aligned(std::uint64_t address, std::size_t alignment) const {
  const std::uint64_t start = offset(address, 0);
  if (start % alignment == 0) return;
  std::ostringstream text;
  text << "address " << hexadecimal(start) << " of " << name_ << " is not a multiple of "
       << alignment << " bytes";
  throw Fault{"misaligned", text.str(), name_, start, 0};
}

std::uint64_t Memory::first_unwritten(std::uint64_t begin, std::uint64_t end) const {
  const std::uint8_t* flags = written_.get();
  std::uint64_t at = begin;
  constexpr std::uint64_t kAll = 0x0101010101010101;
  for (; at + 8 <= end; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, flags + at, 8);
    if (word != kAll) break;
  }
  for (; at < end; ++at) {
    if (flags[at] != 0) continue;
    // Scalar stores of compiled code set no flag, but change the poison. (A scalar store of the
    // poison's own two bytes is not seen.)
    std::uint16_t value = 0;
    std::memcpy(&value, data_.get() + at / 2 * 2, 2);
    if (value == kPoison) return at;
  }
  return end;
}

bool Memory::written(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t start = offset(address, bytes);
  return !checks_ || first_unwritten(start, start + bytes) == start + bytes;
}

void Memory::check_written(std::uint64_t begin, std::uint64_t bytes) const {
  const std::uint64_t at = first_unwritten(begin, begin + bytes);
  if (at == begin + bytes) return;
  std::ostringstream text;
  text << "reads " << name_ << " at " << hexadecimal(at) << ", which nothing has written (" << bytes
       << " bytes from " << hexadecimal(begin) << ")";
  throw Fault{"unwritten", text.str(), name_, at, bytes};
}

void Memory::move(std::uint64_t target, std::uint64_t source, std::uint64_t bytes) {
  const std::uint64_t from = offset(source, bytes), to = offset(target, bytes);
  std::memmove(data_.get() + to, data_.get() + from, bytes);
  if (checks_) {
    note(from, bytes, false);
    note(to, bytes, true);
    std::memmove(written_.get() + to, written_.get() + from, bytes);
    // What scalar stores wrote counts as written: a byte that is not poison.
    for (std::uint64_t at = to; at < to + bytes; ++at) {
      if (written_.get()[at] == 0) written_.get()[at] = first_unwritten(at, at + 1) != at;
    }
  }
  bytes_read += bytes;
  bytes_written += bytes;
}

void Memory::watch(const PipeClocks* clocks) {
  clocks_ = clocks;
  if (clocks != nullptr && log_ == nullptr) log_ = std::make_unique<AccessLog>(size_);
}

void Memory::note(std::uint64_t begin, std::uint64_t bytes, bool write) const {
  if (clocks_ == nullptr) return;
  const int other = log_->access(*clocks_, begin, bytes, write);
  if (other < 0) return;
  std::ostringstream text;
  text << (write ? "writes " : "reads ") << name_ << " at " << hexadecimal(begin) << " (" << bytes
       << " bytes), which pipe " << pipe_name(other)
       << " has touched; no flag orders the two";
  throw Fault{"race", text.str(), name_, begin, bytes};
}

const std::uint8_t* Memory::read(std::uint64_t address, std::uint64_t bytes,
                                 std::size_t alignment) const {
  const std::uint64_t start = offset(address, bytes);
  if (checks_) {
    const std::size_t unit = alignment != 0 ? alignment : alignment_;
    if ((start & (unit - 1)) != 0) require_aligned(start, unit);
    check_written(start, bytes);
    note(start, bytes, false);
  }
  bytes_read += bytes;
  return data_.get() + start;
}

const std::uint8_t* Memory::peek(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t start = offset(address, bytes);
  if (checks_) note(start, bytes, false);
  bytes_read += bytes;
  return data_.get() + start;
}

std::uint8_t* Memory::write(std::uint64_t address, std::uint64_t bytes, std::size_t alignment) {
  const std::uint64_t start = offset(address, bytes);
  if (checks_) {
    const std::size_t unit = alignment != 0 ? alignment : alignment_;
    if ((start & (unit - 1)) != 0) require_aligned(start, unit);
    std::memset(written_.get() + start, 1, bytes);
    note(start, bytes, true);
  }
  bytes_written += bytes;
  return data_.get() + start;
}

void Memory::scramble(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t start = offset(address, bytes);
  if (!checks_) return;
  note(start, bytes, true);
  for (std::uint64_t at = start; at < start + bytes; ++at) {
    data_.get()[at] = static_cast<std::uint8_t>(at % 2 == 0 ? kPoison & 0xFF : kPoison >> 8);
    written_.get()[at] = 0;
  }
}

GlobalMemory::GlobalMemory(std::vector<Region> regions) : regions_(std::move(regions)) {
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& left, const Region& right) { return left.begin < right.begin; });
}

const Region& GlobalMemory::find(std::uint64_t address, std::uint64_t bytes,
                                 const char* verb) const {
  auto next = std::upper_bound(
      regions_.begin(), regions_.end(), address,
      [](std::uint64_t value, const Region& region) { return value < region.begin; });
  // Tensors that share storage overlap: look at all that begin before the address.
  const Region* nearest = nullptr;
  for (auto region = next; region != regions_.begin();) {
    --region;
    if (address - region->begin <= region->bytes &&
        bytes <= region->bytes - (address - region->begin)) {
      return *region;
    }
    if (nearest == nullptr) nearest = &*region;
  }
  std::ostringstream text;
  text << verb << " " << bytes << " bytes of global memory outside the tensors of this launch";
  if (nearest != nullptr) {
    text << ": " << address - nearest->begin << " bytes after the beginning of " << nearest->name
         << ", which has " << nearest->bytes;
  } else if (!regions_.empty()) {
    text << ": " << regions_.front().begin - address << " bytes before " << regions_.front().name;
  }
  throw Fault{"out-of-bounds", text.str(), "GM", address, bytes};
}

const std::uint8_t* GlobalMemory::read(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes != 0) find(address, bytes, "reads");
  return reinterpret_cast<const std::uint8_t*>(address);
}

std::uint8_t* GlobalMemory::write(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes != 0) {
    const Region& region = find(address, bytes, "writes");
    if (!region.writable) {
      throw Fault{"read-only", "writes " + region.name + ", which is read-only", "GM", address,
                  bytes};
    }
  }
  return reinterpret_cast<std::uint8_t*>(address);
}

}  // namespace flagc::aicore
