// Sorting in UB: 32 scores at a time, and merging of sorted lists.
//
// A record has 8 bytes: the score in the low bytes (fp32 in four, fp16 in two and two unused), an index
// in the high four. Order: the largest score first, and of equal ones the earlier.
#include <vector>

#include "vector_access.h"

namespace flagc::aicore {

namespace {

struct Tag {};

constexpr std::uint64_t kRecord = 8;
constexpr unsigned kSorted = 32;
constexpr unsigned kLists = 4;

// A NaN is larger than any number, one with the sign set smaller: the library sorts ascending by turning
// all signs, after it has filled up with NaNs that must come last.
inline int side(float value) { return std::isnan(value) ? (std::signbit(value) ? -1 : 1) : 0; }
template <class T>
bool before(T left, T right) {
  const float a = to_float(left), b = to_float(right);
  return side(a) != side(b) ? side(a) > side(b) : a > b;
}

template <class T>
T score_of(const std::uint8_t* record) {
  T score;
  std::memcpy(&score, record, sizeof score);
  return score;
}

// Each repeat takes 32 scores and 32 indices and writes 32 records.
template <class T>
void sort(Core& core, std::uint64_t target, std::uint64_t scores, std::uint64_t indices,
          std::uint64_t configuration) {
  only(configuration, mask_of(56, 64), "configuration");
  for (std::uint64_t repeat = 0; repeat < field(configuration, 56, 64); ++repeat) {
    T score[kSorted];
    std::uint32_t index[kSorted];
    std::memcpy(score, core.ub.read(scores + repeat * sizeof score, sizeof score), sizeof score);
    std::memcpy(index, core.ub.read(indices + repeat * sizeof index, sizeof index), sizeof index);
    unsigned order[kSorted];
    for (unsigned at = 0; at < kSorted; ++at) order[at] = at;
    std::stable_sort(order, order + kSorted,
                     [&score](unsigned a, unsigned b) { return before(score[a], score[b]); });
    std::uint8_t* out = core.ub.write(target + repeat * kSorted * kRecord, kSorted * kRecord);
    std::memset(out, 0, kSorted * kRecord);
    for (unsigned at = 0; at < kSorted; ++at) {
      std::memcpy(out + at * kRecord, &score[order[at]], sizeof(T));
      std::memcpy(out + at * kRecord + 4, &index[order[at]], 4);
    }
  }
}

struct List {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
};

// What one merge makes of `lists`; with `stop` it ends when the first of them is used up.
template <class T>
std::vector<std::uint8_t> merged(Core& core, const List (&lists)[kLists], bool stop) {
  std::vector<std::uint8_t> out;
  std::uint64_t next[kLists] = {};
  for (;;) {
    const std::uint8_t* best = nullptr;
    unsigned from = 0;
    for (unsigned list = 0; list < kLists; ++list) {
      if (next[list] == lists[list].length) continue;
      const std::uint8_t* head = core.ub.read(lists[list].address + next[list] * kRecord, kRecord, kRecord);
      if (best == nullptr || before(score_of<T>(head), score_of<T>(best))) {
        best = head;
        from = list;
      }
    }
    if (best == nullptr) return out;
    out.insert(out.end(), best, best + kRecord);
    if (++next[from] == lists[from].length && stop) return out;
  }
}

// `sources`: four addresses of 16 bits, in units of 8 bytes.
// `lengths`: four of 16 bits. Configuration: repeats 0:8, which lists take part 8:12, stop early 12.
// With more than one repeat the lists lie end to end, and so do the results.
template <class T>
void merge(Core& core, std::uint64_t target, std::uint64_t sources, std::uint64_t lengths,
           std::uint64_t configuration) {
  only(configuration, mask_of(0, 13), "configuration");
  const std::uint64_t repeats = field(configuration, 0, 8), valid = field(configuration, 8, 12);
  const bool stop = field(configuration, 12, 13);
  List lists[kLists];
  std::uint64_t records = 0;
  for (unsigned list = 0; list < kLists; ++list) {
    if (((valid >> list) & 1) == 0) continue;
    const int low = static_cast<int>(16 * list);
    lists[list] = {field(sources, low, low + 16) * kRecord, field(lengths, low, low + 16)};
    records += lists[list].length;
  }
  if (repeats > 1) {
    if (valid != mask_of(0, kLists)) refuse_field("valid lists", valid, "repeats need all four lists");
    if (stop) refuse_field("stop early", 1, "not with repeats");
    for (unsigned list = 1; list < kLists; ++list) {
      const List& previous = lists[list - 1];
      if (lists[list].length == previous.length &&
          lists[list].address == previous.address + previous.length * kRecord) continue;
      refuse_field("repeats", repeats, "repeats need lists of one length, end to end");
    }
  }
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    List here[kLists];
    for (unsigned list = 0; list < kLists; ++list) {
      here[list] = {lists[list].address + repeat * records * kRecord, lists[list].length};
    }
    const std::vector<std::uint8_t> out = merged<T>(core, here, stop);
    if (out.empty()) continue;
    std::memcpy(core.ub.write(target + repeat * records * kRecord, out.size()), out.data(), out.size());
  }
}

const char* const kSort = "AscendC Sort32; NaNs by their sign, as the library's sort needs it; the unused half of an fp16 record is 0 (uncertain)";
const char* const kMerge =
    "AscendC MrgSort, addresses as the library packs them; of equal scores that of the first list comes first; a "
    "target that overlaps a source gets the result of whole sources (uncertain); VMS4_SR is not kept: nothing reads it";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("VBS32.f16", kV, kSort, sort<Half>),
    FLAGC_INSTRUCTION("VBS32.f32", kV, kSort, sort<float>),
    FLAGC_INSTRUCTION("VMRGSORT.f16.V220", kV, kMerge, merge<Half>),
    FLAGC_INSTRUCTION("VMRGSORT.f32.V220", kV, kMerge, merge<float>),
};

}  // namespace

void register_vector_sort(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
