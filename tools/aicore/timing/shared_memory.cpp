#include "shared_memory.h"

#include <algorithm>
#include <cmath>

namespace flagc::aicore::timing {

namespace {

constexpr std::int64_t kBlockBytes = 512, kLineBytes = 128;

// Odd constant of Fibonacci hashing (2^64 / golden ratio).
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

int population(std::uint64_t word) { return __builtin_popcountll(word); }

}  // namespace

L2::L2(const std::vector<std::int64_t>& region_bytes, double bytes, int sampling_shift)
    : recent_(region_bytes.size()), shift_(sampling_shift) {
  std::int64_t blocks = 0;
  for (const std::int64_t size : region_bytes) {
    region_start_.push_back(blocks);
    blocks += (size + kBlockBytes - 1) / kBlockBytes + 1;
  }
  nodes_.resize(static_cast<std::size_t>(blocks));
  region_start_.push_back(blocks);
  capacity_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / kBlockBytes) >> shift_);
}

void L2::detach(std::int32_t block) {
  Node& node = nodes_[static_cast<std::size_t>(block)];
  (node.previous >= 0 ? nodes_[static_cast<std::size_t>(node.previous)].next : oldest_) = node.next;
  (node.next >= 0 ? nodes_[static_cast<std::size_t>(node.next)].previous : newest_) = node.previous;
}

void L2::evict() {
  const std::int32_t block = oldest_;
  Node& node = nodes_[static_cast<std::size_t>(block)];
  written_back_ += static_cast<double>(population(node.dirty) * kLineBytes << shift_);
  detach(block);
  node.present = false;
  node.valid = node.dirty = 0;
  --count_;
}

void L2::touch(std::int32_t block) {
  if (newest_ == block) return;
  Node& node = nodes_[static_cast<std::size_t>(block)];
  if (node.present) {
    detach(block);
  } else {
    if (count_ >= capacity_) evict();
    node.present = true;
    ++count_;
  }
  node.previous = newest_;
  node.next = -1;
  if (newest_ >= 0) nodes_[static_cast<std::size_t>(newest_)].next = block;
  newest_ = block;
  if (oldest_ < 0) oldest_ = block;
}

Found L2::visit(int region, std::int64_t address, const Operation& shape, int core, double time,
                double window, bool write) {
  const bool contiguous = shape.pitch == shape.row_bytes || shape.rows <= 1;
  const std::uint32_t rows = contiguous ? 1 : shape.rows;
  const std::int64_t length =
      contiguous ? static_cast<std::int64_t>(shape.row_bytes) * shape.rows : shape.row_bytes;
  const auto at_region = static_cast<std::size_t>(region);
  const std::int64_t first_block = region_start_[at_region];
  const std::int64_t blocks = region_start_[at_region + 1] - first_block;
  const std::uint64_t self = 1ULL << (core & 63);
  const auto now = static_cast<float>(time);
  std::int64_t lines = 0, missed = 0, sharers = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::int64_t begin = address + row * shape.pitch;
    const std::int64_t first = begin / kLineBytes, last = (begin + length - 1) / kLineBytes;
    for (std::int64_t block = first / 4; block <= last / 4; ++block) {
      if (block < 0 || block >= blocks) continue;
      const std::int64_t index = first_block + block;
      if (shift_ > 0 && (static_cast<std::uint64_t>(index) * kGolden) >> (64 - shift_) != 0) continue;
      const std::int64_t from = std::max(first - block * 4, std::int64_t{0});
      const std::int64_t to = std::min(last - block * 4, std::int64_t{3});
      const auto mask = static_cast<std::uint8_t>(((2 << to) - 1) & ~((1 << from) - 1));
      const std::int64_t here = to - from + 1;
      Node& node = nodes_[static_cast<std::size_t>(index)];
      if (now - node.since > static_cast<float>(window)) {
        node.since = now;
        node.cores = 0;
      }
      sharers += population(node.cores & ~self) * here;
      node.cores |= self;
      lines += here;
      if (!write) missed += population(static_cast<std::uint8_t>(mask & ~node.valid));
      if (shape.flags & kBypass) continue;
      touch(static_cast<std::int32_t>(index));
      node.valid |= mask;
      if (write) node.dirty |= mask;
    }
  }
  Recent& recent = recent_[at_region];
  Found found{recent.missed, recent.sharers};
  if (lines > 0) {
    const double missed_share = static_cast<double>(missed) / static_cast<double>(lines);
    const double share = static_cast<double>(sharers) / static_cast<double>(lines);
    // A twentieth of each access: what the last few rounds over all cores found.
    const double weight = recent.known ? 0.05 : 1;
    recent.missed += weight * (missed_share - recent.missed);
    recent.sharers += weight * (share - recent.sharers);
    recent.known = true;
    found.missed = shift_ == 0 ? missed_share : recent.missed;
    if (shift_ > 0 && lines * 128 >= 16 * 512) found.missed = missed_share;
  }
  // Of n cores at one block the first finds 0 others and the last n - 1; all wait alike.
  found.sharers = 2 * recent.sharers;
  return found;
}

Found L2::read(int region, std::int64_t address, const Operation& shape, int core, double time,
               double window) {
  return visit(region, address, shape, core, time, window, false);
}

Found L2::write(int region, std::int64_t address, const Operation& shape, int core, double time,
                double window) {
  return visit(region, address, shape, core, time, window, true);
}

double L2::take_written_back() {
  const double bytes = written_back_;
  written_back_ = 0;
  return bytes;
}

Bandwidth::Slice& Bandwidth::slice(std::size_t index) {
  if (index >= slices_.size()) {
    slices_.resize(index + index / 2 + 64, Slice{static_cast<float>(l2_rate_ * kSlice),
                                                  static_cast<float>(hbm_rate_ * kSlice)});
  }
  return slices_[index];
}

double Bandwidth::transfer(double start, double bytes, double missed, double rate, double l2_share) {
  auto index = static_cast<std::size_t>(start / kSlice);
  double at = start;
  double left = bytes;
  for (;;) {
    Slice& now = slice(index);
    const double end = static_cast<double>(index + 1) * kSlice;
    double most = std::min(rate * (end - at), static_cast<double>(now.l2) / l2_share);
    if (missed > 0) most = std::min(most, static_cast<double>(now.hbm) / missed);
    const double part = std::min(left, most);
    now.l2 -= static_cast<float>(part * l2_share);
    now.hbm -= static_cast<float>(part * missed);
    left -= part;
    if (left <= 1e-3) {
      // Within the slice: at the request's own rate, or where the slice's capacity puts it.
      const double l2_at = end - now.l2 / l2_rate_;
      const double hbm_at = missed > 0 ? end - now.hbm / hbm_rate_ : 0;
      const double own = at + part / rate;
      return std::min(end, std::max({own, std::min(l2_at, own + kSlice / 4),
                                     std::min(hbm_at, own + kSlice / 4)}));
    }
    ++index;
    at = end;
  }
}

}  // namespace flagc::aicore::timing
