// Python bindings of the timing model.
#include "bindings.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>

#include "simulation.h"

namespace nb = nanobind;

namespace flagc::aicore::timing {

namespace {

// Operations as bytes of the layout of Operation.
Program program(const nb::bytes& data) {
  if (data.size() % sizeof(Operation) != 0) throw std::invalid_argument("not a whole number of operations");
  Program result(data.size() / sizeof(Operation));
  std::memcpy(result.data(), data.c_str(), data.size());
  return result;
}

void add_class(Launch& launch, const std::vector<nb::bytes>& programs) {
  BlockClass shape;
  for (const nb::bytes& data : programs) shape.programs.push_back(program(data));
  launch.classes.push_back(std::move(shape));
}

void add_block(Launch& launch, std::uint32_t block_class, std::vector<std::int64_t> bases) {
  if (block_class >= launch.classes.size()) throw std::invalid_argument("no such class of blocks");
  bases.resize(launch.region_bytes.size());
  launch.blocks.push_back({block_class, std::move(bases)});
}

Costs make_costs(const std::map<std::string, double>& values, std::vector<double> slope,
                 std::vector<double> floor, std::vector<double> tail) {
  Costs costs;
  for (const auto& [name, value] : values) {
    if (!assign(costs, name, value)) throw std::invalid_argument("the timing model has no constant " + name);
  }
  if (costs.queue < 1 || costs.queue > 64) throw std::invalid_argument("queue must be 1 to 64");
  costs.vector_slope = std::move(slope);
  costs.vector_floor = std::move(floor);
  costs.vector_tail = std::move(tail);
  return costs;
}

nb::dict pipe_use(const PipeUse& use) {
  nb::dict result;
  result["busy"] = use.busy;
  result["occupied"] = use.occupied;
  result["instructions"] = use.instructions;
  result["idle"] = std::vector<double>(use.idle.begin(), use.idle.end());
  return result;
}

nb::dict agent_use(const AgentUse& use) {
  nb::dict result, pipes;
  for (int pipe = 0; pipe < kPipeCount; ++pipe) {
    const PipeUse& one = use.pipes[static_cast<std::size_t>(pipe)];
    if (one.instructions > 0 || one.busy > 0) pipes[nb::int_(pipe)] = pipe_use(one);
  }
  result["started"] = use.started;
  result["end"] = use.end;
  result["pipes"] = pipes;
  return result;
}

nb::dict traffic(const Traffic& bytes) {
  nb::dict result;
  result["l2_read"] = bytes.l2_read;
  result["l2_written"] = bytes.l2_written;
  result["hbm_read"] = bytes.hbm_read;
  result["hbm_written"] = bytes.hbm_written;
  result["l1_to_l0"] = bytes.l1_to_l0;
  result["ub_read"] = bytes.ub_read;
  result["sharers"] = bytes.sharers;
  result["mad_steps"] = bytes.mad_steps;
  return result;
}

nb::list timed_instructions(const Result& result) {
  nb::list records;
  for (const TimedInstruction& one : result.trace) {
    records.append(nb::make_tuple(one.slot, one.agent, one.block, one.pipe, one.name, one.start, one.end));
  }
  return records;
}

nb::list agent_uses(const Result& result) {
  nb::list agents;
  for (const AgentUse& use : result.agents) agents.append(agent_use(use));
  return agents;
}

}  // namespace

void bind(nb::module_& m) {
  nb::class_<Launch>(m, "TimedLaunch")
      .def(nb::init<>())
      .def("add_class", &add_class, nb::arg("programs"))
      .def("add_block", &add_block, nb::arg("block_class"), nb::arg("bases"))
      .def_rw("assignment", &Launch::assignment)
      .def_rw("region_bytes", &Launch::region_bytes)
      .def_rw("slots", &Launch::slots)
      .def_rw("cube", &Launch::cube)
      .def_prop_ro("classes", [](const Launch& self) { return self.classes.size(); })
      .def_prop_ro("blocks", [](const Launch& self) { return self.blocks.size(); });

  nb::class_<Costs>(m, "TimingCosts")
      .def("__init__", [](Costs* self, const std::map<std::string, double>& values,
                          std::vector<double> slope, std::vector<double> floor,
                          std::vector<double> tail) {
        new (self) Costs(make_costs(values, std::move(slope), std::move(floor), std::move(tail)));
      });
  m.def("timing_cost_names", &cost_names, "Names of the timing model's constants.");

  nb::class_<Result>(m, "TimingResult")
      .def_ro("cycles", &Result::cycles)
      .def_ro("core_cycles", &Result::core_cycles)
      .def_ro("mean_core_cycles", &Result::mean_core_cycles)
      .def_ro("agents_in_slot", &Result::agents_in_slot)
      .def_ro("operations", &Result::operations)
      .def_prop_ro("agents", &agent_uses)
      .def_prop_ro("traffic", [](const Result& self) { return traffic(self.traffic); })
      .def_prop_ro("trace", &timed_instructions);

  m.def("simulate",
        [](const Launch& launch, const Costs& costs, bool trace, int sampling_shift) {
          const nb::gil_scoped_release release;
          Options options;
          options.trace = trace;
          options.sampling_shift = sampling_shift;
          return simulate(launch, costs, options);
        },
        nb::arg("launch"), nb::arg("costs"), nb::arg("trace") = false, nb::arg("sampling_shift") = -1,
        "Replay a launch; times in core cycles. sampling_shift: follow one L2 block in 2^shift (-1: by size).");
}

}  // namespace flagc::aicore::timing
