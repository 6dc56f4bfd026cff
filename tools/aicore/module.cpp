// Python bindings of the AI Core emulator.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace {

// A fractal, the AI Core's unit of matrix storage, is 16 rows of 32 bytes
// (asc-devkit, "NPU architecture 2201").
constexpr int kFractalRows = 16;
constexpr int kFractalRowBytes = 32;

}  // namespace

NB_MODULE(_aicore, m) {
  m.doc() = "Native part of flagc's emulated AI Core.";
  m.attr("FRACTAL_ROWS") = kFractalRows;
  m.attr("FRACTAL_ROW_BYTES") = kFractalRowBytes;
}
