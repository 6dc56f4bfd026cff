// FIX.L0C.TO.OUT: accumulators from L0C ([n/16][rows][16]) to rows in global memory.
#include <algorithm>
#include <vector>

#include "atomic_store.h"
#include "half_arrays.h"
#include "instruction.h"
#include "number.h"

namespace flagc::aicore {

namespace {

struct Tag {};

// QuantMode_t of AscendC, the modes without parameters.
constexpr std::uint64_t kNoQuant = 0, kToHalf = 1, kToBfloat = 16;

[[noreturn]] void refuse(const char* reason) { throw Fault{"refused", reason}; }

template <class In, class Out>
void store(const In* value, Out* out, std::uint64_t count) {
  if constexpr (std::is_same_v<Out, Half>) {
    to_halves(value, out, count);
  } else if constexpr (std::is_same_v<In, Out>) {
    std::memcpy(out, value, count * sizeof(Out));
  } else {
    for (std::uint64_t at = 0; at < count; ++at) out[at] = from_float<Out>(value[at]);
  }
}

template <class In, class Out, std::uint64_t kMode>
void fixpipe(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t shape,
             std::uint64_t options) {
  const std::uint64_t n = field(shape, 4, 16), m = field(shape, 16, 32),
                      target_stride = field(shape, 32, 64), source_stride = field(options, 0, 16);
  const std::uint64_t quantisation = field(options, 34, 39), relu = field(options, 39, 42);
  if (!field(options, 43, 44)) refuse("a fixpipe that keeps fractals (no NZ2ND)");
  if (field(options, 42, 43)) refuse("a fixpipe with channel split");
  if (relu > 1) refuse("a fixpipe with leaky or parametric ReLU");
  if (quantisation != kMode) refuse("a fixpipe with quantisation parameters");
  if (field(core.nd_parameters, 0, 16) != 1) refuse("a fixpipe of several matrices (SET.ND.PARA)");
  if (field(options, 32, 34)) core.clocks.follow(static_cast<int>(Pipe::kFix), static_cast<int>(Pipe::kM));
  if (m == 0 || n == 0) return;
  // Mix kernels move whole tiles through the workspace, also where nothing was computed.
  const bool to_scratch = core.gm->scratch(target, n * sizeof(Out));
  const bool atomic = stores_atomically(core);
  std::vector<Out> held(atomic ? n : 0);
  for (std::uint64_t row = 0; row < m; ++row) {
    const std::uint64_t at_row = target + row * target_stride * sizeof(Out);
    Out* out = atomic ? held.data() : reinterpret_cast<Out*>(core.gm->write(at_row, n * sizeof(Out)));
    for (std::uint64_t first = 0; first < n; first += 16) {
      const std::uint64_t width = std::min<std::uint64_t>(16, n - first);
      const std::uint64_t at_source = source + (first / 16 * source_stride + row) * 64;
      if (to_scratch && !core.l0c.written(at_source, width * 4)) {
        std::fill_n(reinterpret_cast<std::uint16_t*>(out + first), width * sizeof(Out) / 2, kPoison);
        continue;
      }
      const In* in = reinterpret_cast<const In*>(core.l0c.read(at_source, width * 4, 64));
      In value[16];
      for (std::uint64_t at = 0; at < width; ++at) value[at] = relu == 1 && in[at] < 0 ? In{0} : in[at];
      store(value, out + first, width);
    }
    if (atomic) store_to_global(core, at_row, reinterpret_cast<const std::uint8_t*>(out), n * sizeof(Out));
  }
}

const char* const kScales = "needs dequantisation parameters, which are not implemented";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.f2h", kFix, "", fixpipe<float, Half, kToHalf>),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.f322bf16", kFix, "", fixpipe<float, Bfloat, kToBfloat>),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.f32", kFix, "", fixpipe<float, float, kNoQuant>),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.s32", kFix, "", fixpipe<std::int32_t, std::int32_t, kNoQuant>),
    FLAGC_REFUSED("FIX.L0C.TO.OUT.s322f16", kFix, kScales),
    FLAGC_REFUSED("FIX.L0C.TO.OUT.s322s16", kFix, kScales),
    FLAGC_REFUSED("FIX.L0C.TO.OUT.s322s8", kFix, kScales),
};

}  // namespace

void register_fixpipe(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
