// How long MTE2, MTE3 and FIX take for a piece of global memory when no other core is in their way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "costs.h"
#include "operation.h"

namespace flagc::aicore::timing {

// Packets of a row: CANN's cache_tiling_cycle_model.cc cuts a row into pieces of 512, 256 and 128
// bytes and one for the rest; the measured ND2NZ copies of MindStudio's tables also show one of 64.
inline int packets(std::uint32_t bytes) {
  int count = static_cast<int>(bytes / 512);
  std::uint32_t rest = bytes % 512;
  for (const std::uint32_t piece : {256U, 128U, 64U}) {
    if (rest >= piece) {
      ++count;
      rest -= piece;
    }
  }
  return std::max(1, count + (rest > 0));
}

inline bool aligned(const Operation& op, std::int64_t address) {
  return address % 32 == 0 && (op.rows <= 1 || op.pitch % 32 == 0);
}

// Cycles of a read, without latency; `sharers` other cores are at the same blocks.
inline double read_cycles(const Costs& costs, const Operation& op, std::int64_t address, double sharers) {
  const double bytes = op.row_bytes;
  double row = 0;
  if (op.flags & kToUb) {
    const bool apart = op.rows > 1 && op.pitch != op.row_bytes;
    row = std::max(apart ? costs.ub_row : 0, bytes / costs.ub_port);
    if (apart && !aligned(op, address)) row = std::max(row, costs.unaligned_packet * bytes / 32);
  } else if (op.flags & kNd2nz) {
    if (aligned(op, address)) {
      const double base = op.pitch - op.row_bytes < 512 ? costs.near_row : costs.row;
      row = std::max(base + costs.packet * (packets(op.row_bytes) - 1), bytes / costs.nz_port);
    } else {
      row = costs.row + costs.unaligned_packet * (bytes / 32 + 1);
    }
  } else {
    row = bytes / costs.l1_port;
  }
  return op.rows * (row + costs.same_address * sharers * bytes / 512);
}

inline double fixpipe_cycles(const Costs& costs, const Operation& op) {
  const double out = static_cast<double>(op.rows) * op.row_bytes;
  return std::max({out / costs.fix_out, op.work / costs.fix_in, op.rows * costs.fix_row});
}

inline double store_cycles(const Costs& costs, const Operation& op) {
  const double bytes = static_cast<double>(op.rows) * op.row_bytes;
  const bool apart = op.rows > 1 && op.pitch != op.row_bytes;
  return std::max(bytes / costs.mte3_port, apart ? op.rows * costs.mte3_row : 0);
}

}  // namespace flagc::aicore::timing
