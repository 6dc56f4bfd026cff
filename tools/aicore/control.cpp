// Flags, barriers, registers and identification: the instructions that move no data.
#include "fields.h"
#include "instruction.h"
#include "number.h"

namespace flagc::aicore {

namespace {

struct Tag {};

void set_flag(Core& core, std::uint64_t source, std::uint64_t target, std::uint64_t event) {
  core.set_flag(source, target, event);
}
void wait_flag(Core& core, std::uint64_t source, std::uint64_t target, std::uint64_t event) {
  core.wait_flag(source, target, event);
}
// Only PIPE_ALL orders different pipes.
void barrier(Core& core, std::uint64_t pipe) {
  if (pipe >= kPipes) refuse_field("pipe", pipe);
  if (core.checks && pipe == static_cast<std::uint64_t>(Pipe::kAll)) core.clocks.meet();
}
void set_line(Core& core, std::uint64_t line) { core.line = static_cast<std::int64_t>(line); }
void no_effect(Core&, std::uint64_t, std::uint64_t) {}
void trap(Core&) {
  throw Fault{"trap", "the device library gave up (for instance, a tile does not fit L0A or L0B)",
              "", 0, 0};
}

std::uint64_t block_index(Core& core) { return static_cast<std::uint64_t>(core.block); }
std::uint64_t block_number(Core& core) { return static_cast<std::uint64_t>(core.block_count); }
std::uint64_t sub_block_index(Core& core) { return static_cast<std::uint64_t>(core.sub_block); }
std::uint64_t sub_block_number(Core& core) {
  return static_cast<std::uint64_t>(core.sub_block_count);
}

std::uint64_t get_control(Core& core) { return core.control; }
// Atomic stores 6:11, HF32 46:48 and 49, infinities and NaNs kept 48 (always so here), count mode 56,
// integers cut off instead of saturated 59, and 60, which the vendor's compiler clears.
void set_control(Core& core, std::uint64_t value) {
  only(value, mask_of(6, 11) | mask_of(46, 50) | mask_of(56, 57) | mask_of(59, 61), "register CTRL");
  core.control = value;
}
std::uint64_t bit_set_0(Core&, std::uint64_t value, std::uint64_t bit) {
  return value & ~(1ULL << (bit & 63));
}
std::uint64_t bit_set_1(Core&, std::uint64_t value, std::uint64_t bit) {
  return value | (1ULL << (bit & 63));
}
void move_mask(Core& core, std::uint64_t high, std::uint64_t value) {
  core.mask[high & 1] = value;
}
void set_compare_mask(Core& core, std::uint64_t address) {
  // A scalar fills 2 or 4 of the 8 bytes; the library leaves the others as they were.
  core.ub.view(address, 2, 2, 2);
  const View view = core.ub.peek(address, 8);
  std::memcpy(&core.compare_mask, view.data, 8);
  core.compare_mask_undefined = 0;
  if (view.undefined != nullptr) std::memcpy(&core.compare_mask_undefined, view.undefined, 8);
}
void set_fmatrix(Core& core, std::uint64_t value) { core.fmatrix_a = value; }
void set_fmatrix_b(Core& core, std::uint64_t value) { core.fmatrix_b = value; }
void set_nd_parameters(Core& core, std::uint64_t value) { core.nd_parameters = value; }
void set_padding(Core& core, std::uint64_t value) { core.padding = value; }
void set_pad_value(Core& core, std::uint64_t value) { core.pad_value = value; }
void set_ffts(Core&, std::uint64_t) {}

std::uint64_t get_accumulator(Core& core) { return core.accumulator; }
std::uint64_t get_max_min(Core& core) { return core.max_min; }
std::uint64_t get_kept(Core& core) { return core.kept_count; }

// `cores` names the kinds of cores that an instruction is for: 1 AIC, 2 AIV.
bool meant(const Core& core, std::uint64_t cores) { return cores & (core.kind == CoreKind::kAic ? 1 : 2); }

CrossCore& cross_core(Core& core) {
  if (core.cross == nullptr) throw Fault{"cross-core", "a cross-core flag in a kernel for one core kind"};
  return *core.cross;
}
// Instructions run at once, so what the pipes in between would order is in order already.
template <SyncMode kMode>
void sync_set(Core& core, std::uint64_t cores, std::uint64_t, std::uint64_t, std::uint64_t flag) {
  if (!meant(core, cores)) refuse_field("core", cores, "the flag is set by a core of another kind");
  cross_core(core).set(core, kMode, static_cast<int>(flag));
}
void sync_wait(Core& core, std::uint64_t cores, std::uint64_t, std::uint64_t, std::uint64_t flag) {
  if (!meant(core, cores)) refuse_field("core", cores, "a core of another kind waits for the flag");
  cross_core(core).wait(core, static_cast<int>(flag));
}
// Set and wait: nobody goes on before all have come.
void sync_all(Core& core, std::uint64_t cores, std::uint64_t mode, std::uint64_t flag) {
  if (mode >= kSyncModes) refuse_field("mode", mode);
  if (!meant(core, cores)) return;
  cross_core(core).set(core, static_cast<SyncMode>(mode), static_cast<int>(flag));
  cross_core(core).wait(core, static_cast<int>(flag));
}

std::uint64_t stack_object(Core&) {
  static thread_local std::uint64_t object[512];
  return reinterpret_cast<std::uint64_t>(object);
}

const Instruction rows[] = {
    FLAGC_INSTRUCTION("SET.FLAG.IMM", kS, "", set_flag),
    FLAGC_INSTRUCTION("SET.FLAG.REG", kS, "", set_flag),
    FLAGC_INSTRUCTION("WAIT.FLAG.IMM", kS, "", wait_flag),
    FLAGC_INSTRUCTION("WAIT.FLAG.REG", kS, "", wait_flag),
    FLAGC_INSTRUCTION("BARRIER", kS, "", barrier),
    FLAGC_INSTRUCTION("DCCI", kS, "caches are not modelled", no_effect),
    FLAGC_INSTRUCTION("TRAP", kS, "", trap),
    FLAGC_INSTRUCTION("GET.BLOCK.IDX", kS, "", block_index),
    FLAGC_INSTRUCTION("GET.BLOCK.NUM", kS, "", block_number),
    FLAGC_INSTRUCTION("GET.SUBBLOCKID", kS, "", sub_block_index),
    FLAGC_INSTRUCTION("GET.SUBBLOCKDIM", kS, "", sub_block_number),
    FLAGC_INSTRUCTION("GET.CTRL", kS, "", get_control),
    FLAGC_INSTRUCTION("SET.CTRL", kS, "", set_control),
    FLAGC_INSTRUCTION("SBITSET0", kS, "", bit_set_0),
    FLAGC_INSTRUCTION("SBITSET1", kS, "", bit_set_1),
    FLAGC_INSTRUCTION("MOVEMASK", kS, "", move_mask),
    FLAGC_INSTRUCTION("SET.CMPMASK", kV, "takes 8 bytes from UB: a mask's address or a scalar (library's vsel)", set_compare_mask),
    FLAGC_INSTRUCTION("SET.FMATRIX", kS, "", set_fmatrix),
    FLAGC_INSTRUCTION("SET.FMATRIX.B", kS, "", set_fmatrix_b),
    FLAGC_INSTRUCTION("SET.ND.PARA", kS, "", set_nd_parameters),
    FLAGC_INSTRUCTION("SET.PADDING", kS, "", set_padding),
    FLAGC_INSTRUCTION("SET.MOV.PAD.VAL", kS, "", set_pad_value),
    FLAGC_INSTRUCTION("SET.FFTS.BASE.ADDR", kS, "", set_ffts),
    FLAGC_INSTRUCTION("GET.ACC.VAL", kS, "sum over all repeats of the last VCADD of mode 1 (CCE intrinsics, vcadd)", get_accumulator),
    FLAGC_INSTRUCTION("GET.MAX.MIN.CNT", kS, "over all repeats of the last VCMAX/VCMIN: value in the low, index in the high half (GetReduceRepeatMaxMinSpr)", get_max_min),
    FLAGC_INSTRUCTION("GET.RSVD.CNT", kS, "elements that the last VREDUCEv2 kept", get_kept),
    FLAGC_INSTRUCTION("LINE", kS, "of ours: the kernel's source line, for diagnostics", set_line),
    FLAGC_INSTRUCTION("SYNC.BLOCK.SET", kS, "of ours: CrossCoreSetFlag, mode 2", sync_set<SyncMode::kBlock>),
    FLAGC_INSTRUCTION("SYNC.SUBBLOCK.SET", kS, "of ours: CrossCoreSetFlag, mode 1", sync_set<SyncMode::kSubBlocks>),
    FLAGC_INSTRUCTION("SYNC.GRID.SET", kS, "of ours: CrossCoreSetFlag, mode 0", sync_set<SyncMode::kGrid>),
    FLAGC_INSTRUCTION("SYNC.BLOCK.WAIT", kS, "of ours: CrossCoreWaitFlag, any mode", sync_wait),
    FLAGC_INSTRUCTION("SYNC.SUBBLOCK.ALL", kS, "of ours: hivm's sync_block within a block", sync_all),
    FLAGC_INSTRUCTION("SYNC.GRID.ALL", kS, "of ours: hivm's sync_block; how hivmc spends flags on ALL is not public", sync_all),
    FLAGC_INSTRUCTION("get.sycl.fix.stack.object", kS, "scratch memory of the core's stack", stack_object),
};

}  // namespace

void register_control(Table& table) { table.add(rows); }

}  // namespace flagc::aicore
