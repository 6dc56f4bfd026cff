// FIX.L0C.TO.OUT: accumulators from L0C ([n/16][rows][16]) to global memory, as rows or as fractals.
#include <algorithm>
#include <vector>

#include "atomic_store.h"
#include "fields.h"
#include "half_arrays.h"
#include "instruction.h"
#include "number.h"

namespace flagc::aicore {

namespace {

struct Tag {};

// QuantMode_t (CCE intrinsics, copy_matrix_cc_to_gm). A V before the name: a parameter for each column.
enum Quant : std::uint64_t { kNone = 0, kToHalf = 1, kVreq8 = 8, kReq8 = 9, kVdeqHalf = 10, kDeqHalf = 11, kToBfloat = 16 };

constexpr std::uint64_t kAccumulator = 4;  // bytes
constexpr std::uint64_t kFractalSide = 16;
constexpr std::uint64_t kFractal = kFractalSide * kFractalSide * kAccumulator;

// The parameter of one column, 8 bytes: an fp32 scale of which 19 bits count, an offset of 9 bits, and
// whether results are signed.
struct Parameter {
  explicit Parameter(std::uint64_t word)
      : scale(bit_cast<float>(static_cast<std::uint32_t>(word & mask_of(13, 32)))),
        offset(static_cast<int>(field(word, 37, 46)) - (field(word, 45, 46) ? 512 : 0)),
        is_signed(field(word, 46, 47)) {
    only(word, mask_of(0, 32) | mask_of(37, 47), "quantisation parameter");
  }
  float scale;
  int offset;
  bool is_signed;
};

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

// One accumulator, scaled: to fp16, or to 8 bits by way of 9 bits and the offset.
inline Half scaled(std::int32_t value, const Parameter& parameter, Half) {
  return to_half(static_cast<float>(value) * parameter.scale);
}
inline std::int8_t scaled(std::int32_t value, const Parameter& parameter, std::int8_t) {
  const double product = round_to_integer(static_cast<float>(value) * parameter.scale, Rounding::kNearestEven);
  const int nine = static_cast<int>(std::clamp(product, -256.0, 255.0)) + parameter.offset;
  const int low = parameter.is_signed ? -128 : 0, high = parameter.is_signed ? 127 : 255;
  return static_cast<std::int8_t>(std::clamp(nine, low, high));
}

struct Fields {
  Fields(std::uint64_t shape, std::uint64_t options)
      : n(field(shape, 4, 16)), m(field(shape, 16, 32)), target_stride(field(shape, 32, 64)),
        source_stride(field(options, 0, 16)), quant(field(options, 34, 39)), relu(field(options, 39, 42)),
        split(field(options, 42, 43)), rows(field(options, 43, 44)), unit_flag(field(options, 32, 34)) {
    only(shape, mask_of(4, 64), "shape");
    only(options, mask_of(0, 16) | mask_of(32, 44), "options");
    if (relu > 1) refuse_field("ReLU", relu, "its slopes are in a register or in FB, and nothing in the library puts them there");
  }
  std::uint64_t n, m, target_stride, source_stride, quant, relu;
  bool split, rows;
  std::uint64_t unit_flag;
  bool to_scratch = false;
};

template <class In, class Out>
constexpr bool kScales = std::is_same_v<In, std::int32_t> && !std::is_same_v<Out, std::int32_t>;

template <class In, class Out>
void check_quantisation(std::uint64_t quant) {
  if (quant == kReq8 || quant == kDeqHalf) {
    refuse_field("quantisation", quant, "its one parameter is in a register that nothing in the library sets");
  }
  constexpr std::uint64_t kWanted = std::is_same_v<In, Out>        ? kNone
                                    : std::is_same_v<Out, Bfloat>  ? kToBfloat
                                    : std::is_same_v<In, float>    ? kToHalf
                                    : std::is_same_v<Out, Half>    ? kVdeqHalf
                                                                   : kVreq8;
  if (quant != kWanted) refuse_field("quantisation", quant, "not one that this instruction's types go with");
}

// Accumulators [first, first + width) of a row, which lie in one fractal, as results.
template <class In, class Out>
void finish(Core& core, const Fields& fields, std::uint64_t at, std::uint64_t first, std::uint64_t width, Out* out) {
  const In* in = reinterpret_cast<const In*>(core.l0c.read(at, width * kAccumulator, kAccumulator));
  In value[kFractalSide];
  for (std::uint64_t index = 0; index < width; ++index) {
    value[index] = fields.relu == 1 && in[index] < 0 ? In{0} : in[index];
  }
  if constexpr (kScales<In, Out>) {
    for (std::uint64_t index = 0; index < width; ++index) {
      std::uint64_t word;
      std::memcpy(&word, core.fb.read((first + index) * sizeof word, sizeof word, sizeof word), sizeof word);
      const Parameter parameter(word);
      if (fields.relu == 1 && (parameter.scale < 0 || parameter.offset != 0)) {
        refuse_field("ReLU", 1, "with a negative scale or an offset its place before or after them matters, and is not public");
      }
      out[index] = scaled(value[index], parameter, Out{});
    }
  } else {
    store(value, out, width);
  }
}

// Columns [first, first + count) of a row to `target`.
template <class In, class Out>
void store_columns(Core& core, const Fields& fields, std::uint64_t target, std::uint64_t source, std::uint64_t row,
                   std::uint64_t first, std::uint64_t count) {
  const bool atomic = stores_atomically(core);
  std::vector<Out> held(atomic ? count : 0);
  Out* out = atomic ? held.data() : reinterpret_cast<Out*>(core.gm->write(target, count * sizeof(Out)));
  for (std::uint64_t column = first; column < first + count;) {
    const std::uint64_t width = std::min(kFractalSide - column % kFractalSide, first + count - column);
    const std::uint64_t at = source + (column / kFractalSide * fields.source_stride + row) * kFractalSide * kAccumulator +
                             column % kFractalSide * kAccumulator;
    if (fields.to_scratch && !core.l0c.defined(at, width * kAccumulator)) {
      std::fill_n(reinterpret_cast<std::uint16_t*>(out + column - first), width * sizeof(Out) / 2, kPoison);
      core.gm->mark(target + (column - first) * sizeof(Out), width * sizeof(Out));
    } else {
      finish<In>(core, fields, at, column, width, out + column - first);
    }
    column += width;
  }
  if (atomic) store_to_global(core, target, reinterpret_cast<const std::uint8_t*>(out), count * sizeof(Out));
}

// Matrices of rows; strides in elements, between sources in fractals.
template <class In, class Out>
void store_rows(Core& core, const Fields& fields, std::uint64_t target, std::uint64_t source) {
  const std::uint64_t matrices = field(core.nd_parameters, 0, 16), source_step = field(core.nd_parameters, 16, 32),
                      target_step = field(core.nd_parameters, 32, 48);
  only(core.nd_parameters, mask_of(0, 48), "register ND_PARA");
  if (matrices == 0) refuse_field("number of matrices (SET.ND.PARA)", matrices);
  if (fields.split) refuse_field("channel split", 1, "only fractals can be split");
  for (std::uint64_t matrix = 0; matrix < matrices; ++matrix) {
    for (std::uint64_t row = 0; row < fields.m; ++row) {
      const std::uint64_t at = target + (matrix * target_step + row * fields.target_stride) * sizeof(Out);
      store_columns<In, Out>(core, fields, at, source + matrix * source_step * kFractal, row, 0, fields.n);
    }
  }
}

// [n / columns][m][columns], 16 columns, or 32 of one byte, or 8 of split fp32; strides in 32 bytes.
template <class In, class Out>
void store_fractals(Core& core, const Fields& fields, std::uint64_t target, std::uint64_t source) {
  if (fields.split && !std::is_same_v<Out, float>) refuse_field("channel split", 1, "only fp32 can be split");
  const std::uint64_t columns = fields.split ? 8 : sizeof(Out) == 1 ? 32 : 16;
  if (fields.n % columns != 0) refuse_field("n", fields.n, "fractals need whole groups of columns");
  for (std::uint64_t first = 0; first < fields.n; first += columns) {
    for (std::uint64_t row = 0; row < fields.m; ++row) {
      const std::uint64_t at = target + first / columns * fields.target_stride * 32 + row * columns * sizeof(Out);
      store_columns<In, Out>(core, fields, at, source, row, first, columns);
    }
  }
}

template <class In, class Out>
void fixpipe(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t shape,
             std::uint64_t options) {
  Fields fields(shape, options);
  check_quantisation<In, Out>(fields.quant);
  if (fields.unit_flag) core.clocks.follow(static_cast<int>(Pipe::kFix), static_cast<int>(Pipe::kM));
  if (fields.m == 0 || fields.n == 0) return;
  core.l0c.require_aligned(source, 64);
  // Mix kernels move whole tiles through the workspace, also where nothing was computed.
  const std::uint64_t piece = fields.rows ? fields.n : std::min<std::uint64_t>(fields.n, 8);
  fields.to_scratch = core.gm->scratch(target, piece * sizeof(Out));
  if (fields.rows) {
    store_rows<In, Out>(core, fields, target, source);
  } else {
    store_fractals<In, Out>(core, fields, target, source);
  }
}

const char* const kKept = "without NZ2ND: strides as AscendC's CFG_NZ has them (the library's own use differs)";
const char* const kSplit = "without NZ2ND: as AscendC's CFG_NZ; channel split: stride between groups of 8 columns (uncertain)";
const char* const kFromFb =
    "parameters at the start of FB (FPC, which nothing in the library sets, taken as 0); layout: AscendC deqScalar; "
    "int32 to fp32 to the result, two roundings (uncertain)";
const char* const kShift = "where the shift lies in its parameter is not public";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.f2h", kFix, kKept, fixpipe<float, Half>),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.f322bf16", kFix, kKept, fixpipe<float, Bfloat>),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.f32", kFix, kSplit, fixpipe<float, float>),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.s32", kFix, kKept, fixpipe<std::int32_t, std::int32_t>),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.s322f16", kFix, kFromFb, fixpipe<std::int32_t, Half>),
    FLAGC_REFUSED("FIX.L0C.TO.OUT.s322s16", kFix, kShift),
    FLAGC_INSTRUCTION("FIX.L0C.TO.OUT.s322s8", kFix, kFromFb, fixpipe<std::int32_t, std::int8_t>),
};

}  // namespace

void register_fixpipe(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
