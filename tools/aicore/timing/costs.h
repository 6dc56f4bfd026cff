// The constants of the timing model, in cycles and bytes. Values, sources and fits:
// python/flagc/aicore/timing/costs.toml, written by tools/aicore/calibrate.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace flagc::aicore::timing {

// clang-format off
#define FLAGC_COSTS(X)                                                                             \
  X(issue)            /* S: cycles to issue an instruction of another pipe */                      \
  X(queue)            /* instructions that a pipe's queue holds */                                 \
  X(flag_latency)     /* from a set flag to the pipe that waits */                                 \
  X(wait)             /* cycles that a wait takes of its pipe */                                     \
  X(m_head)           /* M: cycles before the first fractal */                                     \
  X(m_tail)           /* M: from the last fractal until the result is there */                     \
  X(mte1_head)        /* MTE1: cycles before the first fractal */                                  \
  X(mte1_tail)                                                                                     \
  X(mte1_conflict)    /* slowdown of MTE1 while MTE2 writes L1 */                                  \
  X(mte2_conflict)    /* slowdown of MTE2 while MTE1 reads L1 */                                     \
  X(l1_head)          /* MTE2 into L1: cycles of an instruction that none other overlaps */        \
  X(ub_head)          /* MTE2 into UB, same */                                                     \
  X(hit_latency)      /* first byte from L2 */                                                     \
  X(miss_latency)     /* added when it comes from HBM */                                           \
  X(miss_packet)      /* of each packet that comes from HBM */                                       \
  X(l1_port)          /* bytes a cycle into L1, contiguous */                                      \
  X(nz_port)          /* bytes a cycle into L1 through ND2NZ */                                    \
  X(ub_port)                                                                                       \
  X(l1_window)        /* bytes that the MTE2 of an AIC has outstanding */                          \
  X(nz_window)        /* of an AIC, for ND2NZ rows that come from HBM */                              \
  X(ub_window)        /* of an AIV */                                                              \
  X(row)              /* cycles of a row that lies apart from the one before it */                 \
  X(near_row)         /* of a row next to the one before it */                                     \
  X(packet)           /* of each further packet of a row */                                        \
  X(unaligned_packet) /* of 32 bytes of a row that starts between blocks of 32 */                  \
  X(ub_row)           /* cycles of a row into UB */                                                \
  X(same_address)     /* of a packet, for each other core at the same block */                     \
  X(same_l2)          /* share of L2's bandwidth that each such core costs */                       \
  X(same_window)      /* cycles within which cores count as being at the same block */             \
  X(fix_head)                                                                                      \
  X(fix_tail)                                                                                      \
  X(fix_out)          /* bytes a cycle out of fixpipe */                                           \
  X(fix_in)           /* bytes a cycle out of L0C */                                               \
  X(fix_row)          /* cycles of a row */                                                        \
  X(mte3_head)                                                                                     \
  X(mte3_tail)                                                                                     \
  X(mte3_port)        /* bytes a cycle out of UB */                                                \
  X(mte3_row)                                                                                      \
  X(fill_rate)        /* bytes a cycle when MTE2 fills L1 */                                       \
  X(l2_rate)          /* bytes a cycle of L2, all cores */                                         \
  X(hbm_rate)         /* bytes a cycle of HBM, all cores */                                        \
  X(hbm_apart)        /* bytes of HBM's bandwidth that a byte of rows apart takes */                   \
  X(hbm_write)        /* bytes of HBM's bandwidth that a written one takes */                         \
  X(l2_bytes)         /* capacity */                                                               \
  X(block_start)      /* a core starts a block */                                                  \
  X(launch)           /* a launch, without cores */                                                \
  X(launch_core)      /* for each core of a launch */
// clang-format on

struct Costs {
#define FLAGC_COST(name) double name = 0;
  FLAGC_COSTS(FLAGC_COST)
#undef FLAGC_COST
  // By the instruction's number: cycles a repeat, least cycles, latency behind the last repeat.
  std::vector<double> vector_slope, vector_floor, vector_tail;
};

// False when there is no such constant.
inline bool assign(Costs& costs, const std::string& name, double value) {
#define FLAGC_COST(entry)      \
  if (name == #entry) {        \
    costs.entry = value;       \
    return true;               \
  }
  FLAGC_COSTS(FLAGC_COST)
#undef FLAGC_COST
  return false;
}

inline std::vector<std::string> cost_names() {
  return {
#define FLAGC_COST(name) #name,
      FLAGC_COSTS(FLAGC_COST)
#undef FLAGC_COST
  };
}

}  // namespace flagc::aicore::timing
