// How long MTE2, MTE3 and FIX take for a piece of global memory when no other core is in their way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "costs.h"
#include "operation.h"

namespace flagc::aicore::timing {

// Packets of `bytes` within a block of 512: CANN's cache_tiling_cycle_model.cc cuts a row into pieces of
// 512, 256 and 128 bytes and one for the rest; MindStudio's measured ND2NZ copies also show one of 64.
inline int pieces(std::int64_t bytes) {
  int count = 0;
  for (const std::int64_t piece : {512, 256, 128, 64}) {
    count += static_cast<int>(bytes / piece);
    bytes %= piece;
  }
  return count + (bytes > 0);
}

// Packets of a row, which is cut where a block of 512 bytes ends.
inline int packets(std::int64_t address, std::int64_t bytes) {
  const std::int64_t head = std::min(bytes, (512 - address % 512) % 512);
  const std::int64_t whole = (bytes - head) / 512;
  const int count = pieces(head) + static_cast<int>(whole) + pieces(bytes - head - whole * 512);
  return std::max(1, count);
}

inline bool aligned(const Operation& op, std::int64_t address) {
  return address % 32 == 0 && (op.rows <= 1 || op.pitch % 32 == 0);
}

// Cycles of a read, without latency; `sharers` other cores are at the same blocks, and a share `missed`
// comes from HBM.
inline double read_cycles(const Costs& costs, const Operation& op, std::int64_t address, double sharers,
                          double missed) {
  const double bytes = op.row_bytes;
  const bool apart = op.rows > 1 && op.pitch != op.row_bytes;
  double row = 0;
  // The packets of a row that other cores ask for at the same time come one core after the other.
  const double shared = costs.same_address * sharers * packets(address, op.row_bytes);
  if (op.flags & kToUb) {
    row = std::max(apart ? costs.ub_row : 0, bytes / costs.ub_port);
    if (apart && !aligned(op, address)) row = std::max(row, costs.unaligned_packet * bytes / 32);
  } else if (op.flags & kNd2nz) {
    // Rows that follow each other closely are cut as if each began a block (MindStudio's table).
    const bool near = op.pitch - op.row_bytes < 512;
    const int count = packets(near ? 0 : address, op.row_bytes);
    if (near || aligned(op, address)) {
      row = std::max((near ? costs.near_row : costs.row) + costs.packet * (count - 1), bytes / costs.nz_port);
    } else {
      row = costs.row + costs.unaligned_packet * (bytes / 32 + 1);
    }
    const double latency = costs.hit_latency + costs.miss_latency;
    row = std::max(row, missed * (count * costs.miss_packet + bytes * latency / costs.nz_window));
  } else {
    row = bytes / costs.l1_port;
  }
  return op.rows * (row + shared);
}

inline double fixpipe_cycles(const Costs& costs, const Operation& op) {
  const double out = static_cast<double>(op.rows) * op.row_bytes;
  return std::max({costs.fix_head, out / costs.fix_out, op.work / costs.fix_in, op.rows * costs.fix_row});
}

inline double store_cycles(const Costs& costs, const Operation& op) {
  const double bytes = static_cast<double>(op.rows) * op.row_bytes;
  const bool apart = op.rows > 1 && op.pitch != op.row_bytes;
  return std::max(bytes / costs.mte3_port, apart ? op.rows * costs.mte3_row : 0);
}

}  // namespace flagc::aicore::timing
