// Bit fields of operands. What a handler does not understand must not be ignored: it is refused.
#pragma once

#include <cstdint>
#include <sstream>

#include "fault.h"
#include "number.h"

namespace flagc::aicore {

// Bits [low, high) set.
constexpr std::uint64_t mask_of(int low, int high) {
  return (high == 64 ? ~0ULL : (1ULL << high) - 1) & ~((1ULL << low) - 1);
}

[[noreturn]] inline void refuse_field(const char* name, std::uint64_t value, const char* why = "") {
  std::ostringstream text;
  text << "refused: field " << name << " = " << value << (*why ? ": " : "") << why;
  throw Fault{"refused", text.str()};
}

// Faults when `word` has bits outside of `known`.
inline void only(std::uint64_t word, std::uint64_t known, const char* operand) {
  if ((word & ~known) == 0) return;
  std::ostringstream text;
  text << "refused: field bits 0x" << std::hex << (word & ~known) << " of the " << operand
       << " are set, and what they mean is not known";
  throw Fault{"refused", text.str()};
}

}  // namespace flagc::aicore
