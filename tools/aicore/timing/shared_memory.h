// What all cores share: L2, as lines under least-recently-used replacement, and the bandwidths of L2
// and HBM, as capacity in slices of time.
#pragma once

#include <cstdint>
#include <vector>

#include "costs.h"
#include "operation.h"

namespace flagc::aicore::timing {

// What an access finds: shares of its lines, and how many other cores are at them.
struct Found {
  double missed = 0;   // share of bytes that come from HBM
  double sharers = 0;  // other cores at the same block at about the same time, on average
};

// L2 in blocks of 512 bytes (the unit of same-address conflicts, asc-devkit) with a valid bit for
// each line of 128. Large launches follow every 2^shift-th block only, chosen by a hash of its
// number, in a cache of as many fewer blocks (set sampling); what no sampled block says is taken from
// the region's recent accesses.
class L2 {
 public:
  L2(const std::vector<std::int64_t>& region_bytes, double bytes, int sampling_shift);

  Found read(int region, std::int64_t address, const Operation& shape, int core, double time,
             double window);
  Found write(int region, std::int64_t address, const Operation& shape, int core, double time,
              double window);
  // Bytes of dirty lines evicted since the last call.
  double take_written_back();

 private:
  struct Node {
    std::int32_t previous = -1, next = -1;
    std::uint8_t valid = 0, dirty = 0;
    bool present = false;
    float since = -1e30F;
    std::uint64_t cores = 0;
  };
  struct Recent {
    double missed = 1, sharers = 0;
    bool known = false;
  };
  Found visit(int region, std::int64_t address, const Operation& shape, int core, double time,
              double window, bool write);
  void touch(std::int32_t block);
  void evict();
  void detach(std::int32_t block);

  std::vector<Node> nodes_;
  std::vector<std::int64_t> region_start_;
  std::vector<Recent> recent_;
  std::int64_t capacity_, count_ = 0;
  int shift_;
  std::int32_t newest_ = -1, oldest_ = -1;
  double written_back_ = 0;
};

// Bandwidth of L2 and HBM by slices of time: a request takes what is left from the slice in which it
// starts on, at most `rate` bytes a cycle.
class Bandwidth {
 public:
  Bandwidth(double l2_rate, double hbm_rate) : l2_rate_(l2_rate), hbm_rate_(hbm_rate) {}
  // Time at which `bytes` have passed at `rate` at most. Each takes `l2_share` of a byte's bandwidth of
  // L2, and `missed` bytes of HBM's
  // (its own when it is not in L2, and lines that it drives out).
  double transfer(double start, double bytes, double missed, double rate, double l2_share = 1);

  static constexpr double kSlice = 128;

 private:
  struct Slice {
    float l2, hbm;
  };
  Slice& slice(std::size_t index);
  double l2_rate_, hbm_rate_;
  std::vector<Slice> slices_;
};

}  // namespace flagc::aicore::timing
