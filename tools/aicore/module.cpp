// Python bindings of the AI Core emulator.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "grid.h"
#include "instruction.h"
#include "timing/bindings.h"

namespace nb = nanobind;

namespace {

using namespace flagc::aicore;

// A fractal, the AI Core's unit of matrix storage, is 16 rows of 32 bytes
// (asc-devkit, "NPU architecture 2201").
constexpr int kFractalRows = 16;
constexpr int kFractalRowBytes = 32;

Entry entry(std::uint64_t address) { return reinterpret_cast<Entry>(address); }

nb::list instructions() {
  nb::list result;
  for (const Instruction* row : Table::get().rows()) {
    result.append(nb::make_tuple(row->name, pipe_name(static_cast<int>(row->pipe)),
                                 reinterpret_cast<std::uint64_t>(row->function), row->note,
                                 row->refused));
  }
  return result;
}

Launch launch_of(std::uint64_t aic, std::uint64_t aiv, std::vector<std::uint64_t> arguments,
                 std::vector<Region> regions, std::int64_t blocks, const Sizes& sizes) {
  Launch launch;
  launch.kernel = {entry(aic), entry(aiv)};
  launch.sizes = sizes;
  launch.arguments = std::move(arguments);
  launch.regions = std::move(regions);
  launch.blocks = blocks;
  return launch;
}

Outcome run_launch(std::uint64_t aic, std::uint64_t aiv, std::vector<std::uint64_t> arguments,
                   std::vector<Region> regions, std::int64_t blocks, const Sizes& sizes,
                   int threads, bool checks, bool trace, bool together) {
  Launch launch = launch_of(aic, aiv, std::move(arguments), std::move(regions), blocks, sizes);
  launch.threads = threads;
  launch.checks = checks;
  launch.trace = trace;
  launch.together = together;
  const nb::gil_scoped_release release;
  return run(launch);
}

nb::tuple record_launch(std::uint64_t aic, std::uint64_t aiv, std::vector<std::uint64_t> arguments,
                        std::vector<Region> regions, std::int64_t blocks, const Sizes& sizes, bool dataless) {
  const Launch launch = launch_of(aic, aiv, std::move(arguments), std::move(regions), blocks, sizes);
  Recorded recorded;
  {
    const nb::gil_scoped_release release;
    recorded = record(launch, dataless);
  }
  return nb::make_tuple(recorded.fault, std::move(recorded.launch));
}

nb::list operands(const TraceRecord& record) {
  nb::list result;
  for (int index = 0; index < record.operand_count; ++index) {
    result.append(record.operands[static_cast<std::size_t>(index)]);
  }
  return result;
}

}  // namespace

NB_MODULE(_aicore, m) {
  m.doc() = "Native part of flagc's emulated AI Core.";
  m.attr("FRACTAL_ROWS") = kFractalRows;
  m.attr("FRACTAL_ROW_BYTES") = kFractalRowBytes;
  m.def("instructions", &instructions,
        "The instruction table: (name, pipe, address, note, refused) of each row.");

  nb::class_<Sizes>(m, "Sizes")
      .def(nb::init<>())
      .def_rw("l1", &Sizes::l1)
      .def_rw("l0a", &Sizes::l0a)
      .def_rw("l0b", &Sizes::l0b)
      .def_rw("l0c", &Sizes::l0c)
      .def_rw("ub", &Sizes::ub)
      .def_rw("bt", &Sizes::bt)
      .def_rw("fb", &Sizes::fb);

  nb::class_<Region>(m, "Region")
      .def("__init__",
           [](Region* self, std::uint64_t begin, std::uint64_t bytes, bool writable,
              bool scratch, std::string name) {
             new (self) Region{begin, bytes, writable, scratch, std::move(name)};
           },
           nb::arg("begin"), nb::arg("bytes"), nb::arg("writable"), nb::arg("scratch"),
           nb::arg("name"));

  nb::class_<Fault>(m, "Fault")
      .def_ro("kind", &Fault::kind)
      .def_ro("message", &Fault::message)
      .def_ro("memory", &Fault::memory)
      .def_ro("address", &Fault::address)
      .def_ro("bytes", &Fault::bytes)
      .def_ro("instruction", &Fault::instruction)
      .def_ro("pipe", &Fault::pipe)
      .def_ro("core", &Fault::core)
      .def_ro("block", &Fault::block)
      .def_ro("sub_block", &Fault::sub_block)
      .def_ro("line", &Fault::line)
      .def_ro("index", &Fault::index)
      .def_ro("return_address", &Fault::return_address);

  nb::class_<TraceRecord>(m, "TraceRecord")
      .def_prop_ro("name", [](const TraceRecord& self) { return self.instruction->name; })
      .def_prop_ro("pipe", [](const TraceRecord& self) {
        return pipe_name(static_cast<int>(self.instruction->pipe));
      })
      .def_ro("block", &TraceRecord::block)
      .def_ro("sub_block", &TraceRecord::sub_block)
      .def_ro("cube", &TraceRecord::cube)
      .def_prop_ro("operands", &operands)
      .def_ro("bytes_read", &TraceRecord::bytes_read)
      .def_ro("bytes_written", &TraceRecord::bytes_written)
      .def_ro("macs", &TraceRecord::macs);

  nb::class_<Outcome>(m, "Outcome")
      .def_ro("fault", &Outcome::fault)
      .def_ro("instructions", &Outcome::instructions)
      .def_prop_ro("speculative_reads", [](const Outcome& self) { return self.speculation.count; })
      .def_prop_ro("speculative_line", [](const Outcome& self) { return self.speculation.line; })
      .def_prop_ro("speculative_text", [](const Outcome& self) { return self.speculation.text; })
      .def_ro("trace", &Outcome::trace);

  m.def("run", &run_launch, nb::arg("aic"), nb::arg("aiv"), nb::arg("arguments"),
        nb::arg("regions"), nb::arg("blocks"), nb::arg("sizes"), nb::arg("threads"),
        nb::arg("checks"), nb::arg("trace"), nb::arg("together"),
        "Run all blocks of a launch; `aic` and `aiv` are addresses of `void(const void*)` or 0.");
  timing::bind(m);
  m.def("record", &record_launch, nb::arg("aic"), nb::arg("aiv"), nb::arg("arguments"), nb::arg("regions"),
        nb::arg("blocks"), nb::arg("sizes"), nb::arg("dataless"),
        "Run a launch for the timing model: (fault or None, TimedLaunch). dataless: addresses and flags only.");
}
