// Finds two pipes that touch the same on-chip bytes with no flag between them.
//
// Pipes run apart from each other, so program order says nothing across pipes. Each pipe has a clock
// and knows how far it has seen every other pipe: from the scalar unit, which issues instructions, and
// from the flags that it waited for (vector clocks). An access is a race when the last one that
// conflicts with it, by another pipe, is later than what this pipe has seen. Memory is watched in
// blocks of 32 bytes. Scalar accesses count as pipe S.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace flagc::aicore {

constexpr int kClockPipes = 11;
using Clocks = std::array<std::uint32_t, kClockPipes>;

class PipeClocks {
 public:
  // An instruction starts on `pipe`.
  void issue(int pipe) {
    pipe_ = pipe;
    join(seen_[index(pipe)], seen_[0]);
    ++seen_[index(pipe)][index(pipe)];
  }
  void set(std::uint64_t source, std::size_t flag) {
    // The flag goes through the source's queue, behind what the scalar unit knows by now.
    join(seen_[source], seen_[0]);
    flags_[flag].push_back(seen_[source]);
  }
  void wait(std::uint64_t target, std::size_t flag) {
    if (flags_[flag].empty()) return;
    join(seen_[target], flags_[flag].front());
    flags_[flag].pop_front();
  }
  // `later` waits for all that `earlier` has begun (unit flags).
  void follow(int later, int earlier) { join(seen_[index(later)], seen_[index(earlier)]); }
  // Everybody waits for everybody: PIPE_ALL barriers, the beginning of a block.
  void meet() {
    Clocks all{};
    for (const Clocks& clocks : seen_) join(all, clocks);
    seen_.fill(all);
  }
  void forget_flags() {
    for (auto& flag : flags_) flag.clear();
  }
  int pipe() const { return pipe_; }
  std::uint32_t now() const { return seen_[index(pipe_)][index(pipe_)]; }
  bool has_seen(int other, std::uint32_t time) const { return seen_[index(pipe_)][index(other)] >= time; }

 private:
  static std::size_t index(int pipe) { return static_cast<std::size_t>(pipe); }
  static void join(Clocks& into, const Clocks& from) {
    for (std::size_t pipe = 0; pipe < into.size(); ++pipe) into[pipe] = std::max(into[pipe], from[pipe]);
  }
  int pipe_ = 0;
  std::array<Clocks, kClockPipes> seen_{};
  std::vector<std::deque<Clocks>> flags_ = std::vector<std::deque<Clocks>>(kClockPipes * kClockPipes * 8);
};

// The last accesses to each block of one memory.
class AccessLog {
 public:
  explicit AccessLog(std::size_t bytes) : blocks_((bytes + kUnit - 1) / kUnit) {}

  // Whether a read here would be a race; it leaves no trace.
  bool races(const PipeClocks& clocks, std::uint64_t begin, std::uint64_t bytes) const {
    for (std::uint64_t at = begin / kUnit; at <= (begin + bytes - 1) / kUnit; ++at) {
      if (unseen_write(clocks, blocks_[at])) return true;
    }
    return false;
  }

  // The pipe whose earlier access conflicts, or -1.
  int access(const PipeClocks& clocks, std::uint64_t begin, std::uint64_t bytes, bool write) {
    if (bytes == 0) return -1;
    const int pipe = clocks.pipe();
    const std::uint32_t bit = 1u << pipe, now = clocks.now();
    int found = -1;
    for (std::uint64_t at = begin / kUnit; at <= (begin + bytes - 1) / kUnit; ++at) {
      Block& block = blocks_[at];
      if (unseen_write(clocks, block)) found = block.writer;
      if (write) {
        for (std::uint32_t readers = block.readers & ~bit; readers != 0; readers &= readers - 1) {
          const int other = __builtin_ctz(readers);
          if (!clocks.has_seen(other, block.read_times[static_cast<std::size_t>(other)])) found = other;
        }
        block.writer = pipe;
        block.write_time = now;
        // Whoever has seen this write has seen what its pipe had: the reads before it.
        block.readers = 0;
      } else {
        block.read_times[static_cast<std::size_t>(pipe)] = now;
        block.readers |= bit;
      }
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kUnit = 32;
  struct Block {
    int writer = 0;
    std::uint32_t write_time = 0;
    std::uint32_t readers = 0;  // pipes, as bits, since the last write
    Clocks read_times{};
  };
  static bool unseen_write(const PipeClocks& clocks, const Block& block) {
    return block.write_time != 0 && block.writer != clocks.pipe() && !clocks.has_seen(block.writer, block.write_time);
  }
  std::vector<Block> blocks_;
};

}  // namespace flagc::aicore
