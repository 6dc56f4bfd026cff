// The instruction table. A row is data: name, pipe, handler, and for what is uncertain, a note.
//
//   static const Instruction rows[] = {
//       FLAGC_INSTRUCTION("VADD.f32", kV, "", binary<Add, float>),
//   };
//   void register_vector_binary(Table& table) { table.add(rows); }
//
// A handler is `R handler(Core&, operands...)`. From its type the exported C function follows: it
// sets the current instruction, turns a Fault into a jump out of the compiled kernel, and records
// the trace. Rows stand one to a line: the line number tells equal handlers apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core.h"

namespace flagc::aicore {

struct Instruction {
  const char* name;  // as in the device libraries, without `llvm.hivm.`
  Pipe pipe;
  void* function;     // what compiled code calls
  const Instruction** self;  // set on registration, so that `function` knows its row
  const char* note;   // uncertain reading and its source; for refused rows, the reason
  bool refused = false;
};

class Table {
 public:
  template <std::size_t N>
  void add(const Instruction (&rows)[N]) {
    for (const Instruction& row : rows) add(row);
  }
  void add(const Instruction& row) {
    *row.self = &row;
    rows_.push_back(&row);
  }
  const std::vector<const Instruction*>& rows() const { return rows_; }
  static const Table& get();

 private:
  std::vector<const Instruction*> rows_;
};

// Bits of a scalar operand of a vector instruction, 16 or 32 bits wide. A `half`, a `bfloat` and a
// `float` travel in the same register (x86-64 and AArch64), so one C type serves for all three.
struct ScalarBits {
  explicit ScalarBits(float value) { std::memcpy(&bits, &value, sizeof bits); }
  std::uint32_t bits = 0;
};

namespace detail {

template <class T>
std::uint64_t as_word(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return ScalarBits(value).bits;
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

void record(Core& core, const Instruction& row, const std::uint64_t* operands, int count);
// For the timing model; true when the instruction is not to be executed.
bool note(Core& core, const Instruction& row, const std::uint64_t* operands, int count);

template <class Tag, int Line, auto Handler>
struct Exported;

template <class Tag, int Line, class R, class... Operands, R (*Handler)(Core&, Operands...)>
struct Exported<Tag, Line, Handler> {
  inline static const Instruction* self = nullptr;
  static R call(Operands... operands) {
    Core& core = *Core::current;
    core.begin(*self);
    core.return_address = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    try {
      if (core.recorder != nullptr) {
        const std::uint64_t words[] = {as_word(operands)..., 0};
        const bool skip = note(core, *self, words, static_cast<int>(sizeof...(Operands)));
        if constexpr (std::is_void_v<R>) {
          if (skip) return;
        }
      }
      if constexpr (std::is_void_v<R>) {
        Handler(core, operands...);
        if (core.trace != nullptr) trace(core, operands...);
        core.compiled = true;
        return;
      } else {
        R result = Handler(core, operands...);
        if (core.trace != nullptr) trace(core, operands...);
        core.compiled = true;
        return result;
      }
    } catch (const Fault& fault) {
      core.fault = fault;
    }
    core.fail();
  }
  static void trace(Core& core, Operands... operands) {
    const std::uint64_t words[] = {as_word(operands)..., 0};
    record(core, *self, words, static_cast<int>(sizeof...(Operands)));
  }
};

// A refused instruction: any operands, and a fault with the row's reason.
template <class Tag, int Line>
void refuse(Core& core) {
  throw Fault{"refused", core.instruction->note};
}

}  // namespace detail

}  // namespace flagc::aicore

// `kTag` is a local type of each table file, so that line numbers of two files do not meet.
#define FLAGC_INSTRUCTION(name, pipe, note, ...)                                                  \
  Instruction {                                                                                   \
    name, Pipe::pipe,                                                                             \
        reinterpret_cast<void*>(&detail::Exported<Tag, __LINE__, &__VA_ARGS__>::call),            \
        &detail::Exported<Tag, __LINE__, &__VA_ARGS__>::self, note                                \
  }
#define FLAGC_REFUSED(name, pipe, reason)                                                         \
  Instruction {                                                                                   \
    name, Pipe::pipe,                                                                             \
        reinterpret_cast<void*>(                                                                  \
            &detail::Exported<Tag, __LINE__, &detail::refuse<Tag, __LINE__>>::call),              \
        &detail::Exported<Tag, __LINE__, &detail::refuse<Tag, __LINE__>>::self, reason, true      \
  }
