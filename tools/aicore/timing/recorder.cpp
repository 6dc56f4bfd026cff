#include "recorder.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "decode.h"

namespace flagc::aicore::timing {

namespace {

constexpr std::int64_t kNotTouched = INT64_MIN;

std::uint64_t hash_of(const Program& program, std::uint64_t hash) {
  const auto* word = reinterpret_cast<const std::uint64_t*>(program.data());
  for (std::size_t at = 0; at < program.size() * sizeof(Operation) / 8; ++at) {
    hash = (hash ^ word[at]) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

bool same(const std::vector<Program>& left, const std::vector<Program>& right) {
  for (std::size_t index = 0; index < left.size(); ++index) {
    if (left[index].size() != right[index].size() ||
        std::memcmp(left[index].data(), right[index].data(), left[index].size() * sizeof(Operation)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

Recorder::Recorder(const std::vector<Region>& regions, bool mix, bool cube, bool dataless)
    : mix_(mix), dataless_(dataless), programs_(mix ? 3 : 1), scalar_(programs_.size()) {
  std::vector<Extent> sorted;
  for (const Region& region : regions) {
    if (region.bytes > 0) sorted.push_back({region.begin, region.begin + region.bytes});
  }
  std::sort(sorted.begin(), sorted.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  // Tensors that share storage are one extent.
  for (const Extent& extent : sorted) {
    if (!extents_.empty() && extent.begin < extents_.back().end) {
      extents_.back().end = std::max(extents_.back().end, extent.end);
    } else {
      extents_.push_back(extent);
    }
  }
  for (const Extent& extent : extents_) {
    launch_.region_bytes.push_back(static_cast<std::int64_t>(extent.end - extent.begin));
  }
  launch_.cube = cube;
  bases_.assign(extents_.size(), kNotTouched);
}

Program& Recorder::program(const Core& core) {
  if (!mix_) return programs_.front();
  return programs_[core.kind == CoreKind::kAic ? 0 : static_cast<std::size_t>(1 + core.sub_block)];
}

void Recorder::place(Operation& op, std::uint64_t address) {
  if (extents_.empty()) return;
  // Compiled code also reads outside the tensors where a mask is false: that counts to the tensor that
  // begins before it.
  std::size_t index = 0;
  while (index + 1 < extents_.size() && extents_[index + 1].begin <= address) ++index;
  const auto offset = static_cast<std::int64_t>(address - extents_[index].begin);
  if (bases_[index] == kNotTouched) bases_[index] = offset;
  op.region = static_cast<std::uint8_t>(index);
  op.address = offset - bases_[index];
}

void Recorder::add(const Core& core, const Operation& op) {
  Program& stream = program(core);
  std::uint32_t& scalar = scalar_[static_cast<std::size_t>(&stream - programs_.data())];
  if (scalar > 0) {
    Operation pause;
    pause.work = scalar;
    scalar = 0;
    stream.push_back(pause);
  }
  stream.push_back(op);
}

void Recorder::synchronisation(const Core& core, const Instruction& row, const std::uint64_t* x, int count) {
  const std::string_view name = row.name;
  Operation op;
  op.name = number_of(row);
  if (name.rfind("SET.FLAG", 0) == 0 || name.rfind("WAIT.FLAG", 0) == 0) {
    const bool set = name[0] == 'S';
    op.kind = set ? Kind::kSet : Kind::kWait;
    op.pipe = static_cast<std::uint8_t>(x[set ? 0 : 1]);
    op.other = static_cast<std::uint8_t>(x[set ? 1 : 0]);
    op.event = static_cast<std::uint8_t>(x[2]);
    return add(core, op);
  }
  if (name == "BARRIER") {
    op.kind = Kind::kBarrier;
    op.pipe = static_cast<std::uint8_t>(x[0]);
    return add(core, op);
  }
  if (name.rfind("SYNC.", 0) == 0) {
    const bool grid = name.rfind("SYNC.GRID", 0) == 0;
    if (grid && (name == "SYNC.GRID.ALL" || !dataless_)) {
      throw Fault{"not-timed", "the kernel makes all blocks wait for each other in a way that the timing model does not follow"};
    }
    const bool all = name == "SYNC.SUBBLOCK.ALL";
    op.event = static_cast<std::uint8_t>(x[all ? 2 : 3]);
    op.rate = grid ? 0 : name.rfind("SYNC.SUBBLOCK", 0) == 0 ? 1 : 2;  // AscendC's mode
    if (all && !(x[0] & (core.kind == CoreKind::kAic ? 1 : 2))) return;
    if (name.find("WAIT") == name.npos) {
      op.kind = Kind::kCrossSet;
      op.pipe = all ? 0 : static_cast<std::uint8_t>(x[1]);
      add(core, op);
    }
    if (name.find("SET") == name.npos) {
      op.kind = Kind::kCrossWait;
      op.pipe = 0;
      add(core, op);
    }
    return;
  }
  if (dataless_) {
    const bool computed = name == "GET.ACC.VAL" || name == "GET.MAX.MIN.CNT" || name == "GET.RSVD.CNT";
    // The library builds bit masks byte by byte; nothing branches on them.
    const bool loads = name == "SCALAR.LOAD" && count > 2 && x[2] != static_cast<std::uint64_t>(Space::kGm) && x[1] > 1;
    if (computed || loads) throw Fault{"needs-data", "scalar code reads what other pipes compute"};
  }
  if (name != "LINE" && name != "SCALAR.BASE") ++scalar_[static_cast<std::size_t>(&program(core) - programs_.data())];
}

bool Recorder::note(const Core& core, const Instruction& row, const std::uint64_t* operands, int count) {
  if (row.pipe == Pipe::kS) {
    synchronisation(core, row, operands, count);
    return false;
  }
  if (row.refused) return false;
  Decoded decoded = decode(core, row, operands, count);
  if (decoded.known) {
    if (decoded.touches_global) place(decoded.op, decoded.address);
    add(core, decoded.op);
  }
  return dataless_;
}

void Recorder::end_block() {
  std::uint64_t hash = 1;
  for (const Program& stream : programs_) hash = hash_of(stream, hash + 1);
  std::uint32_t found = UINT32_MAX;
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto candidate = first; candidate != last; ++candidate) {
    if (same(launch_.classes[candidate->second].programs, programs_)) found = candidate->second;
  }
  if (found == UINT32_MAX) {
    found = static_cast<std::uint32_t>(launch_.classes.size());
    launch_.classes.push_back({programs_});
    by_hash_.emplace(hash, found);
  }
  for (std::int64_t& base : bases_) {
    if (base == kNotTouched) base = 0;
  }
  launch_.blocks.push_back({found, bases_});
  for (Program& stream : programs_) stream.clear();
  std::fill(scalar_.begin(), scalar_.end(), 0);
  bases_.assign(extents_.size(), kNotTouched);
}

Launch Recorder::take() { return std::move(launch_); }

}  // namespace flagc::aicore::timing
