#include "memory.h"

#include <algorithm>
#include <array>
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
    : name_(name), size_(size), alignment_(alignment), touched_end_(size), data_(allocate(size)),
      undefined_(allocate(size)), origins_(allocate(size)) {}

void Memory::reset(bool checks) {
  checks_ = checks;
  if (!checks) return;
  if (touched_begin_ >= touched_end_) return;
  const std::uint64_t begin = touched_begin_ / 2 * 2, bytes = touched_end_ - begin;
  std::fill_n(reinterpret_cast<std::uint16_t*>(data_.get() + begin), (bytes + 1) / 2, kPoison);
  std::memset(undefined_.get() + begin, 0xFF, bytes);
  std::memset(origins_.get() + begin, static_cast<int>(Origin::kUnwritten), bytes);
  touched_begin_ = size_;
  touched_end_ = 0;
}

void Memory::leaves(std::uint64_t address, std::uint64_t bytes) const {
  std::ostringstream text;
  text << bytes << " bytes at " << hexadecimal(address) << " leave " << name_ << ", which has " << size_ << " bytes";
  throw Fault{"out-of-bounds", text.str(), name_, address, bytes};
}

void Memory::require_aligned(std::uint64_t address, std::size_t alignment) const {
  require_inside(address, 0);
  if (address % alignment == 0) return;
  std::ostringstream text;
  text << "address " << hexadecimal(address) << " of " << name_ << " is not a multiple of "
       << alignment << " bytes";
  throw Fault{"misaligned", text.str(), name_, address, 0};
}

bool Memory::all_defined(std::uint64_t begin, std::uint64_t bytes) const {
  const std::uint8_t* bits = undefined_.get() + begin;
  std::uint64_t any = 0, at = 0;
  for (; at + 8 <= bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits + at, 8);
    any |= word;
  }
  for (; at < bytes; ++at) any |= bits[at];
  return any == 0;
}

bool Memory::defined(std::uint64_t address, std::uint64_t bytes) const {
  require_inside(address, bytes);
  return !checks_ || all_defined(address, bytes);
}

void Memory::unwritten(std::uint64_t at, std::uint64_t begin, std::uint64_t bytes) const {
  std::ostringstream text;
  text << "reads " << name_ << " at " << hexadecimal(at) << ", which nothing has written (" << bytes
       << " bytes from " << hexadecimal(begin) << ")";
  throw Fault{"unwritten", text.str(), name_, at, bytes};
}

void Memory::poison(std::uint64_t at) const {
  throw Fault{"poison", "uses the undefined value in " + std::string(name_) + " at " + hexadecimal(at), name_, at, 1};
}

View Memory::view_of(std::uint64_t begin, std::uint64_t bytes) const {
  const std::uint8_t* data = data_.get() + begin;
  if (!checks_ || all_defined(begin, bytes)) return {data, nullptr, nullptr};
  return {data, undefined_.get() + begin, origins_.get() + begin};
}

void Memory::move(std::uint64_t target, std::uint64_t source, std::uint64_t bytes) {
  require_inside(source, bytes);
  require_inside(target, bytes);
  std::memmove(data_.get() + target, data_.get() + source, bytes);
  if (checks_) {
    note(source, bytes, false);
    note(target, bytes, true);
    touch(target, bytes);
    std::memmove(undefined_.get() + target, undefined_.get() + source, bytes);
    std::memmove(origins_.get() + target, origins_.get() + source, bytes);
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

void Memory::check_alignment(std::uint64_t begin, std::size_t alignment) const {
  const std::size_t unit = alignment != 0 ? alignment : alignment_;
  if ((begin & (unit - 1)) != 0) require_aligned(begin, unit);
}

const std::uint8_t* Memory::read(std::uint64_t address, std::uint64_t bytes,
                                 std::size_t alignment) const {
  require_inside(address, bytes);
  if (checks_) {
    check_alignment(address, alignment);
    if (!all_defined(address, bytes)) {
      std::uint64_t at = address;
      while (undefined_.get()[at] == 0) ++at;
      if (origins_.get()[at] == static_cast<std::uint8_t>(Origin::kUnwritten)) unwritten(at, address, bytes);
      poison(at);
    }
    note(address, bytes, false);
  }
  bytes_read += bytes;
  return data_.get() + address;
}

View Memory::view(std::uint64_t address, std::uint64_t bytes, std::uint64_t element,
                  std::size_t alignment) const {
  require_inside(address, bytes);
  const View result = view_of(address, bytes);
  if (checks_) {
    check_alignment(address, alignment);
    if (result.undefined != nullptr) {
      for (std::uint64_t first = 0; first < bytes; first += element) {
        std::uint64_t at = first;
        const std::uint64_t end = std::min(first + element, bytes);
        while (at < end && result.undefined[at] == 0xFF &&
               result.origin(at) == Origin::kUnwritten) {
          ++at;
        }
        if (at == end) unwritten(address + first, address, bytes);
      }
    }
    note(address, bytes, false);
  }
  bytes_read += bytes;
  return result;
}

View Memory::peek(std::uint64_t address, std::uint64_t bytes) const {
  require_inside(address, bytes);
  if (checks_) note(address, bytes, false);
  bytes_read += bytes;
  return view_of(address, bytes);
}

View Memory::glance(std::uint64_t address, std::uint64_t bytes) const {
  static const std::array<std::uint8_t, 32> all = [] {
    std::array<std::uint8_t, 32> bits{};
    bits.fill(0xFF);
    return bits;
  }();
  static const std::array<std::uint8_t, 32> derived = [] {
    std::array<std::uint8_t, 32> origins{};
    origins.fill(static_cast<std::uint8_t>(Origin::kDerived));
    return origins;
  }();
  require_inside(address, bytes);
  bytes_read += bytes;
  if (clocks_ != nullptr && log_->races(*clocks_, address, bytes)) {
    return {data_.get() + address, all.data(), derived.data()};
  }
  return view_of(address, bytes);
}

std::uint8_t* Memory::write(std::uint64_t address, std::uint64_t bytes, std::size_t alignment) {
  require_inside(address, bytes);
  if (checks_) {
    check_alignment(address, alignment);
    std::memset(undefined_.get() + address, 0, bytes);
    note(address, bytes, true);
    touch(address, bytes);
  }
  bytes_written += bytes;
  return data_.get() + address;
}

void Memory::mark(std::uint64_t address, std::uint64_t bytes, const std::uint8_t* bits, Origin origin) {
  require_inside(address, bytes);
  if (!checks_) return;
  if (bits == nullptr) {
    std::memset(undefined_.get() + address, 0xFF, bytes);
  } else {
    std::memcpy(undefined_.get() + address, bits, bytes);
  }
  std::memset(origins_.get() + address, static_cast<int>(origin), bytes);
}

void Memory::scramble(std::uint64_t address, std::uint64_t bytes) {
  require_inside(address, bytes);
  if (!checks_) return;
  note(address, bytes, true);
  touch(address, bytes);
  for (std::uint64_t at = address; at < address + bytes; ++at) {
    data_.get()[at] = static_cast<std::uint8_t>(at % 2 == 0 ? kPoison & 0xFF : kPoison >> 8);
  }
  mark(address, bytes, nullptr, Origin::kUnwritten);
}

GlobalMemory::GlobalMemory(std::vector<Region> regions, bool checks) : regions_(std::move(regions)) {
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& left, const Region& right) { return left.begin < right.begin; });
  shadows_.resize(regions_.size());
  for (std::size_t index = 0; index < regions_.size(); ++index) {
    const Region& region = regions_[index];
    if (!checks || !region.scratch) continue;
    shadows_[index] = std::make_unique<std::uint8_t[]>(region.bytes);
    std::memset(shadows_[index].get(), 0xFF, region.bytes);
  }
}

// Null when nothing there is ever undefined.
std::uint8_t* GlobalMemory::shadow(const Region& region, std::uint64_t address) const {
  std::uint8_t* bits = shadows_[static_cast<std::size_t>(&region - regions_.data())].get();
  return bits == nullptr ? nullptr : bits + (address - region.begin);
}

const std::uint8_t* GlobalMemory::undefined(std::uint64_t address, std::uint64_t bytes) const {
  const Region* region = lookup(address, bytes);
  if (region == nullptr || !region->scratch || bytes == 0) return nullptr;
  const std::uint8_t* bits = shadow(*region, address);
  if (bits == nullptr || std::all_of(bits, bits + bytes, [](std::uint8_t byte) { return byte == 0; })) return nullptr;
  return bits;
}

void GlobalMemory::mark(std::uint64_t address, std::uint64_t bytes, const std::uint8_t* bits) const {
  std::uint8_t* here = shadow(find(address, bytes, "writes"), address);
  if (here == nullptr) return;
  // `write` has cleared them, `update` has not.
  for (std::uint64_t at = 0; at < bytes; ++at) {
    here[at] = static_cast<std::uint8_t>(here[at] | (bits == nullptr ? 0xFF : bits[at]));
  }
}

const Region* GlobalMemory::lookup(std::uint64_t address, std::uint64_t bytes) const {
  auto region = std::upper_bound(
      regions_.begin(), regions_.end(), address,
      [](std::uint64_t value, const Region& next) { return value < next.begin; });
  // Tensors that share storage overlap: look at all that begin before the address.
  while (region != regions_.begin()) {
    --region;
    const std::uint64_t at = address - region->begin;
    if (at <= region->bytes && bytes <= region->bytes - at) return &*region;
  }
  return nullptr;
}

std::string GlobalMemory::place(std::uint64_t address) const {
  if (regions_.empty()) return "";
  const Region* nearest = nullptr;
  for (const Region& region : regions_) {
    if (region.begin <= address) nearest = &region;
  }
  std::ostringstream text;
  if (nearest != nullptr) {
    text << ": " << address - nearest->begin << " bytes after the beginning of " << nearest->name
         << ", which has " << nearest->bytes;
  } else {
    text << ": " << regions_.front().begin - address << " bytes before " << regions_.front().name;
  }
  return text.str();
}

std::pair<std::uint64_t, std::uint64_t> GlobalMemory::part_inside(std::uint64_t address, std::uint64_t bytes) const {
  std::uint64_t from = 0, to = 0;  // of the range
  for (const Region& region : regions_) {
    const std::uint64_t end = region.begin + region.bytes;
    if (end <= address || region.begin >= address + bytes) continue;
    if (to != 0 && region.begin > address) break;
    from = region.begin > address ? region.begin - address : 0;
    to = std::max(to, std::min(end - address, bytes));
  }
  return {from, to};
}

const Region& GlobalMemory::find(std::uint64_t address, std::uint64_t bytes,
                                 const char* verb) const {
  if (const Region* region = lookup(address, bytes)) return *region;
  std::ostringstream text;
  text << verb << " " << bytes << " bytes of global memory outside the tensors of this launch"
       << place(address);
  throw Fault{"out-of-bounds", text.str(), "GM", address, bytes};
}

const std::uint8_t* GlobalMemory::read(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes != 0) find(address, bytes, "reads");
  return reinterpret_cast<const std::uint8_t*>(address);
}

std::uint8_t* GlobalMemory::update(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes != 0) {
    const Region& region = find(address, bytes, "writes");
    if (!region.writable) {
      throw Fault{"read-only", "writes " + region.name + ", which is read-only", "GM", address, bytes};
    }
  }
  return reinterpret_cast<std::uint8_t*>(address);
}

std::uint8_t* GlobalMemory::write(std::uint64_t address, std::uint64_t bytes) const {
  std::uint8_t* place = update(address, bytes);
  if (bytes != 0) {
    const Region& region = find(address, bytes, "writes");
    std::uint8_t* bits = region.scratch ? shadow(region, address) : nullptr;
    if (bits != nullptr) std::memset(bits, 0, bytes);
  }
  return place;
}

}  // namespace flagc::aicore
