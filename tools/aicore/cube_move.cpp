// Into L1 (MTE2), from L1 to L0A, L0B and BT (MTE1), to FB (FIX) and to global memory (MTE3).
//
// Layouts, with C0 = 32 bytes / sizeof(element): L1 holds zN: [columns/C0][rows][C0]. L0A holds zZ:
// [m/16][k/C0][16][C0]. L0B holds nZ: [k/C0][n/16][16 n][C0 k].
#include <algorithm>

#include "atomic_store.h"
#include "fields.h"
#include "instruction.h"
#include "number.h"

namespace flagc::aicore {

namespace {

struct Tag {};

constexpr std::uint64_t kBlock = 32;
constexpr std::uint64_t kFractal = 512;

// Global memory, rows of elements, to zN in L1. Strides: source in elements, target in blocks.
template <class T>
void nd2nz(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t shape,
           std::uint64_t strides) {
  constexpr std::uint64_t kC0 = kBlock / sizeof(T);
  const std::uint64_t count = field(shape, 4, 16), rows = field(shape, 16, 32),
                      columns = field(shape, 32, 48), source_matrix = field(shape, 48, 64);
  const std::uint64_t source_row = field(strides, 0, 16), column_step = field(strides, 16, 32),
                      row_step = field(strides, 32, 48), target_matrix = field(strides, 48, 64);
  only(shape, mask_of(4, 64), "shape");
  if (columns == 0) return;
  const std::uint64_t fractals = (columns + kC0 - 1) / kC0;
  const std::uint64_t tail = (columns - (fractals - 1) * kC0) * sizeof(T);
  for (std::uint64_t matrix = 0; matrix < count; ++matrix) {
    const std::uint64_t from = source + matrix * source_matrix * sizeof(T);
    const std::uint64_t to = target + matrix * target_matrix * sizeof(T);
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint8_t* in = core.gm->read(from + row * source_row * sizeof(T), columns * sizeof(T));
      for (std::uint64_t fractal = 0; fractal < fractals; ++fractal) {
        std::uint8_t* out = core.l1.write(to + (fractal * column_step + row * row_step) * kBlock, kBlock);
        if (fractal + 1 < fractals) {
          std::memcpy(out, in + fractal * kBlock, kBlock);
        } else {
          std::memcpy(out, in + fractal * kBlock, tail);
          std::memset(out + tail, 0, kBlock - tail);
        }
      }
    }
  }
}

// `repeat` runs of `blocks` blocks filled with one value, `gap` blocks apart.
template <class T>
void fill(Core& core, std::uint64_t target, std::uint64_t configuration, T value) {
  const std::uint64_t repeat = field(configuration, 0, 15), blocks = field(configuration, 16, 31),
                      gap = field(configuration, 32, 47);
  only(configuration, mask_of(0, 15) | mask_of(16, 31) | mask_of(32, 47), "configuration");
  for (std::uint64_t run = 0; run < repeat; ++run) {
    std::uint8_t* out = core.l1.write(target + run * (blocks + gap) * kBlock, blocks * kBlock);
    for (std::uint64_t at = 0; at < blocks * kBlock; at += sizeof(T)) {
      std::memcpy(out + at, &value, sizeof(T));
    }
  }
}
void fill_16(Core& core, std::uint64_t target, std::uint64_t configuration, float value) {
  fill(core, target, configuration, static_cast<std::uint16_t>(ScalarBits(value).bits));
}
// The f32 form takes a half; only its zero is known to mean the same in both formats.
void fill_f32(Core& core, std::uint64_t target, std::uint64_t configuration, float value) {
  if ((ScalarBits(value).bits & 0xFFFF) != 0) {
    throw Fault{"refused", "CREATE.CBUF.MATRIX.f32.h with a value other than 0: its meaning is not known"};
  }
  fill(core, target, configuration, std::uint32_t{0});
}
void fill_u16(Core& core, std::uint64_t target, std::uint64_t configuration, std::uint64_t value) {
  fill(core, target, configuration, static_cast<std::uint16_t>(value));
}

// What im2col makes of a feature map [channels/C0][height][width][C0] with kernel 1x1, stride 1 and
// no padding: a matrix of `height*width` rows and `channels` columns, the same zN buffer.
struct Window {
  std::uint64_t step_k, step_m, at_k, at_m, rows;
  bool transpose;
};

Window window(Core& core, std::uint64_t extent, std::uint64_t shape) {
  const bool second = field(shape, 47, 48);
  const std::uint64_t feature_map = second ? core.fmatrix_b : core.fmatrix_a;
  const bool plain = field(shape, 0, 6) == 1 && field(shape, 6, 12) == 1 &&
                     field(shape, 12, 20) == 1 && field(shape, 20, 28) == 1 &&
                     field(shape, 28, 36) == 1 && field(shape, 36, 44) == 1 &&
                     field(shape, 44, 46) == 0 && field(feature_map, 32, 64) == 0;
  if (!plain) {
    throw Fault{"refused", "LOAD.3DV2 as a convolution (kernel, stride, dilation or padding other than a matrix's)"};
  }
  Window result{};
  result.step_k = field(extent, 0, 16);
  result.step_m = field(extent, 16, 32);
  result.at_k = field(extent, 32, 48);
  result.at_m = field(extent, 48, 64);
  result.rows = field(feature_map, 0, 16) * field(feature_map, 16, 32);
  result.transpose = field(shape, 46, 47);
  return result;
}

// Element (row, column) of the window goes to matrix element (row, column), or (column, row) with
// `transpose`. For L0A the matrix is (m, k), for L0B it is (n, k) without and (k, n) with transpose.
template <class T, bool kToB>
void load_3d(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t extent,
             std::uint64_t shape) {
  constexpr std::uint64_t kC0 = kBlock / sizeof(T);
  const Window view = window(core, extent, shape);
  const std::uint64_t rows = view.step_m, columns = view.step_k;
  const std::uint64_t channels = field(shape, 48, 64), height = (view.rows + 15) / 16 * 16;
  if (view.at_k + columns > (channels + kC0 - 1) / kC0 * kC0) {
    refuse_field("channels", channels, "the window reaches beyond them");
  }
  if (view.at_m + rows > height) refuse_field("rows of the feature map", view.rows, "the window reaches beyond them");
  const std::uint64_t column_fractals = (columns + kC0 - 1) / kC0;
  Memory& memory = kToB ? core.l0b : core.l0a;
  if (rows == 0 || columns == 0) return;

  if (!view.transpose) {
    // Outer extents: L0A [row/16][column/C0], L0B [column/C0][row/16], of 16 rows of 32 bytes.
    const std::uint64_t row_fractals = (rows + 15) / 16;
    for (std::uint64_t fractal = 0; fractal < column_fractals; ++fractal) {
      const std::uint64_t start = (view.at_k / kC0 + fractal) * view.rows + view.at_m;
      for (std::uint64_t group = 0; group < row_fractals; ++group) {
        const std::uint64_t valid = std::min<std::uint64_t>(16, rows - group * 16);
        const std::uint8_t* in = core.l1.read(source + (start + group * 16) * kBlock, valid * kBlock);
        const std::uint64_t index =
            kToB ? fractal * row_fractals + group : group * column_fractals + fractal;
        std::memcpy(memory.write(target + index * kFractal, valid * kBlock), in, valid * kBlock);
      }
    }
    return;
  }

  // Transposed: the window's columns become the matrix's m (L0A) or n (L0B), its rows become k.
  const std::uint64_t outer_fractals = (columns + 15) / 16;  // of m or n
  const std::uint64_t k_fractals = (rows + kC0 - 1) / kC0;
  const std::uint64_t bytes = outer_fractals * k_fractals * kFractal;
  T* out = reinterpret_cast<T*>(memory.write(target, bytes));
  for (std::uint64_t fractal = 0; fractal < column_fractals; ++fractal) {
    const std::uint64_t start = (view.at_k / kC0 + fractal) * view.rows + view.at_m;
    const T* in = reinterpret_cast<const T*>(core.l1.read(source + start * kBlock, rows * kBlock));
    for (std::uint64_t k = 0; k < k_fractals; ++k) {
      for (std::uint64_t half = 0; half < (kC0 + 15) / 16; ++half) {
        const std::uint64_t first = fractal * kC0 + half * 16;  // of m or n
        const std::uint64_t group = first / 16;
        const std::uint64_t index = kToB ? k * outer_fractals + group : group * k_fractals + k;
        T* square = out + index * (kFractal / sizeof(T)) + first % 16 * kC0;
        const std::uint64_t valid = std::min<std::uint64_t>(kC0, rows - k * kC0);
        const T* piece = in + k * kC0 * kC0 + half * 16;
        constexpr std::uint64_t kWidth = kC0 < 16 ? kC0 : 16;
        for (std::uint64_t line = 0; line < kWidth; ++line) {
          for (std::uint64_t at = 0; at < valid; ++at) square[line * kC0 + at] = piece[at * kC0 + line];
        }
      }
    }
  }
}

// Whole fractals, in the order in which they lie in L1. Those of 16 bits are 16x16 and can be transposed.
template <bool kToB, bool k16Bits>
void load_2d(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration,
             std::uint64_t transpose, std::uint64_t addresses) {
  only(configuration, mask_of(0, 40) | mask_of(44, 60), "configuration");
  only(transpose, k16Bits ? 1 : 0, "transposition");
  only(addresses, 0, "address mode");
  const std::uint64_t start = field(configuration, 0, 16), repeat = field(configuration, 16, 24),
                      stride = field(configuration, 24, 40), gap = field(configuration, 44, 60);
  Memory& memory = kToB ? core.l0b : core.l0a;
  for (std::uint64_t index = 0; index < repeat; ++index) {
    const std::uint8_t* in = core.l1.read(source + (start + index * stride) * kFractal, kFractal);
    std::uint8_t* out = memory.write(target + index * (gap + 1) * kFractal, kFractal);
    if (transpose == 0) {
      std::memcpy(out, in, kFractal);
      continue;
    }
    for (std::uint64_t element = 0; element < 256; ++element) {
      std::memcpy(out + (element % 16 * 16 + element / 16) * 2, in + element * 2, 2);
    }
  }
}

// Element `index` of a row of 32 bytes, and the same of a row of 64 elements of 4 bits, low ones first.
inline std::uint8_t element(const std::uint8_t* row, std::uint64_t index, bool nibbles) {
  return nibbles ? (row[index / 2] >> (index % 2 * 4)) & 15 : row[index];
}
inline void put_element(std::uint8_t* row, std::uint64_t index, std::uint8_t value, bool nibbles) {
  if (!nibbles) {
    row[index] = value;
  } else {
    const unsigned shift = static_cast<unsigned>(index % 2 * 4);
    row[index / 2] = static_cast<std::uint8_t>((row[index / 2] & ~(15u << shift)) | unsigned{value} << shift);
  }
}

// Squares of 32 rows of 32 bytes (or 64, of elements of 4 bits), transposed; each gives two (four) fractals,
// with `gap` fractals between them.
template <bool kToB, bool kNibbles>
void load_2d_transposed(Core& core, std::uint64_t target, std::uint64_t source,
                        std::uint64_t configuration, std::uint64_t fractal_gap) {
  constexpr std::uint64_t kSide = kNibbles ? 64 : 32, kSquare = kSide * kBlock;
  only(configuration, mask_of(0, 40) | mask_of(44, 60), "configuration");
  only(fractal_gap, mask_of(0, 16), "last operand");
  const std::uint64_t start = field(configuration, 0, 16), repeat = field(configuration, 16, 24),
                      stride = field(configuration, 24, 40), gap = field(configuration, 44, 60);
  Memory& memory = kToB ? core.l0b : core.l0a;
  for (std::uint64_t index = 0; index < repeat; ++index) {
    const std::uint8_t* in = core.l1.read(source + (start + index * stride) * kSquare, kSquare);
    for (std::uint64_t part = 0; part < kSide / 16; ++part) {
      const std::uint64_t fractal = index * (gap + 1) + part * (fractal_gap + 1);
      std::uint8_t* out = memory.write(target + fractal * kFractal, kFractal);
      for (std::uint64_t line = 0; line < 16; ++line) {
        for (std::uint64_t at = 0; at < kSide; ++at) {
          put_element(out + line * kBlock, at, element(in + at * kBlock, part * 16 + line, kNibbles), kNibbles);
        }
      }
    }
  }
}

// A bias row: fp16 becomes fp32 on the way when `convert` is set. The length counts 64 bytes of the source.
void to_bias_table(Core& core, std::uint64_t target, std::uint64_t source,
                   std::uint64_t configuration) {
  const bool convert = field(configuration, 3, 4);
  const std::uint64_t bursts = field(configuration, 4, 16), length = field(configuration, 16, 32) * 64,
                      source_gap = field(configuration, 32, 48) * 32,
                      target_gap = field(configuration, 48, 64) * 64;
  only(configuration, mask_of(3, 64), "configuration");
  const std::uint64_t written = convert ? 2 * length : length;
  for (std::uint64_t burst = 0; burst < bursts; ++burst) {
    const std::uint8_t* in = core.l1.read(source + burst * (length + source_gap), length);
    std::uint8_t* out = core.bt.write(target + burst * (written + target_gap), written);
    if (!convert) {
      std::memcpy(out, in, length);
      continue;
    }
    for (std::uint64_t at = 0; at < length / sizeof(Half); ++at) {
      Half half;
      std::memcpy(&half, in + at * sizeof half, sizeof half);
      const float wide = to_float(half);
      std::memcpy(out + at * sizeof wide, &wide, sizeof wide);
    }
  }
}

// Bursts, gaps in units of 32 bytes: the configuration of the plain moves.
struct Bursts {
  explicit Bursts(std::uint64_t word, std::uint64_t unit)
      : count(field(word, 4, 16)), bytes(field(word, 16, 32) * unit), source_step(bytes + field(word, 32, 48) * kBlock),
        target_step(bytes + field(word, 48, 64) * unit) {
    only(word, mask_of(4, 64), "configuration");
  }
  std::uint64_t count, bytes, source_step, target_step;
};

void to_fb(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  constexpr std::uint64_t kUnit = 128;
  const Bursts bursts(configuration, kUnit);
  for (std::uint64_t burst = 0; burst < bursts.count; ++burst) {
    const std::uint8_t* in = core.l1.read(source + burst * bursts.source_step, bursts.bytes);
    std::memcpy(core.fb.write(target + burst * bursts.target_step, bursts.bytes), in, bursts.bytes);
  }
}
void to_l1(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration, std::uint64_t pad) {
  if (pad != 0) refuse_field("padding mode", pad);
  const Bursts bursts(configuration, kBlock);
  for (std::uint64_t burst = 0; burst < bursts.count; ++burst) {
    const std::uint8_t* in = core.gm->read(source + burst * bursts.source_step, bursts.bytes);
    std::memcpy(core.l1.write(target + burst * bursts.target_step, bursts.bytes), in, bursts.bytes);
  }
}
void from_l1(Core& core, std::uint64_t target, std::uint64_t source, std::uint64_t configuration) {
  const Bursts bursts(configuration, kBlock);
  for (std::uint64_t burst = 0; burst < bursts.count; ++burst) {
    const std::uint8_t* in = core.l1.read(source + burst * bursts.source_step, bursts.bytes);
    store_to_global(core, target + burst * bursts.target_step, in, bursts.bytes);
  }
}

const char* const kInt4 = "the element of the low four bits comes first (AscendC int4b_t)";
const char* const kSquares = "transposition is of each fractal (the library's whole product; AscendC LoadData2D ifTranspose)";
const char* const kTail = "the last block of a row is filled up with zeros (AscendC DataCopy ND2NZ)";

const Instruction rows[] = {
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.bf16", kMte2, kTail, nd2nz<std::uint16_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.f16", kMte2, kTail, nd2nz<std::uint16_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.s16", kMte2, kTail, nd2nz<std::uint16_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.u16", kMte2, kTail, nd2nz<std::uint16_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.f32s", kMte2, kTail, nd2nz<std::uint32_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.s32s", kMte2, kTail, nd2nz<std::uint32_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.u32s", kMte2, kTail, nd2nz<std::uint32_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.s8", kMte2, kTail, nd2nz<std::uint8_t>),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.MULTI.ND2NZ.u8", kMte2, kTail, nd2nz<std::uint8_t>),
    FLAGC_INSTRUCTION("CREATE.CBUF.MATRIX.f16.h", kMte2, "", fill_16),
    FLAGC_INSTRUCTION("CREATE.CBUF.MATRIX.bf16.ori", kMte2, "", fill_16),
    FLAGC_INSTRUCTION("CREATE.CBUF.MATRIX.f32.h", kMte2, "", fill_f32),
    FLAGC_INSTRUCTION("CREATE.CBUF.MATRIX.v2.u16", kMte2, "", fill_u16),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0A.3DV2.f16", kMte1, "", load_3d<std::uint16_t, false>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0A.3DV2.f32", kMte1, "", load_3d<std::uint32_t, false>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.3DV2.f16", kMte1, "", load_3d<std::uint16_t, true>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.3DV2.f32", kMte1, "", load_3d<std::uint32_t, true>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0A.2D.V220.f16.addr", kMte1, kSquares, load_2d<false, true>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0A.2D.V220.s8.addr", kMte1, "", load_2d<false, false>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.2D.V220.bf16.addr", kMte1, kSquares, load_2d<true, true>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.2D.V220.f16.addr", kMte1, kSquares, load_2d<true, true>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.2D.V220.f32.addr", kMte1, "", load_2d<true, false>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.2D.V220.s8.addr", kMte1, "", load_2d<true, false>),
    FLAGC_INSTRUCTION("MOV.L1.TO.BT", kMte1, "conversion is from fp16 (library); gap of the source in 32, of the target in 64 bytes: not seen used", to_bias_table),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0A.2D.V220.s4.addr", kMte1, kInt4, load_2d<false, false>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0A.2D.TRANSPOSE.s8", kMte1, "more than one square: unit of the source stride is uncertain (AscendC LoadDataWithTranspose)", load_2d_transposed<false, false>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.2D.TRANSPOSE.s8", kMte1, "more than one square: unit of the source stride is uncertain (AscendC LoadDataWithTranspose)", load_2d_transposed<true, false>),
    FLAGC_INSTRUCTION("LOAD.L1.TO.L0B.2D.TRANSPOSE.s4", kMte1, kInt4, load_2d_transposed<true, true>),
    FLAGC_INSTRUCTION("MOV.L1.TO.FB.v220", kFix, "pipe FIX by the library's flags; gaps not seen used", to_fb),
    FLAGC_INSTRUCTION("MOV.L1.TO.OUT.V220.CUBE", kMte3, "gaps not seen used", from_l1),
    FLAGC_INSTRUCTION("MOV.OUT.TO.L1.v220", kMte2, "padding modes are refused", to_l1),
};

}  // namespace

void register_cube_move(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
