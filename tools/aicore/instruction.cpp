#include "instruction.h"

#include "timing/recorder.h"

namespace flagc::aicore {

void register_control(Table& table);
void register_scalar(Table& table);
void register_cube_move(Table& table);
void register_mad(Table& table);
void register_fixpipe(Table& table);
void register_vector_arithmetic(Table& table);
void register_vector_compare(Table& table);
void register_vector_convert(Table& table);
void register_vector_move(Table& table);
void register_vector_rearrange(Table& table);
void register_vector_reduce(Table& table);
void register_vector_sort(Table& table);

const Table& Table::get() {
  static const Table table = [] {
    Table built;
    register_control(built);
    register_scalar(built);
    register_cube_move(built);
    register_mad(built);
    register_fixpipe(built);
    register_vector_arithmetic(built);
    register_vector_compare(built);
    register_vector_convert(built);
    register_vector_move(built);
    register_vector_rearrange(built);
    register_vector_reduce(built);
    register_vector_sort(built);
    return built;
  }();
  return table;
}

namespace detail {

bool note(Core& core, const Instruction& row, const std::uint64_t* operands, int count) {
  return core.recorder->note(core, row, operands, count);
}

void record(Core& core, const Instruction& row, const std::uint64_t* operands, int count) {
  TraceRecord entry{};
  entry.instruction = &row;
  entry.block = core.block;
  entry.sub_block = core.sub_block;
  entry.cube = core.kind == CoreKind::kAic;
  entry.operand_count = count < 6 ? count : 6;
  for (int index = 0; index < entry.operand_count; ++index) {
    entry.operands[static_cast<std::size_t>(index)] = operands[index];
  }
  const auto [read, written] = core.take_bytes();
  entry.bytes_read = read;
  entry.bytes_written = written;
  entry.macs = core.macs;
  core.macs = 0;
  core.trace->push_back(entry);
}

}  // namespace detail

}  // namespace flagc::aicore
