#include "atomic_store.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "number.h"

namespace flagc::aicore {

namespace {

enum AtomicType : unsigned { kNone, kF32, kF16, kS16, kS32, kS8, kBf16 };
enum AtomicOperation : unsigned { kAdd, kMax, kMin };

// Blocks run on several host threads; one lock for all addresses keeps each store whole.
std::mutex& atomic_lock() {
  static std::mutex lock;
  return lock;
}

template <class T>
T combine(T there, T here, unsigned operation) {
  if (operation == kMax) return std::max(there, here);
  if (operation == kMin) return std::min(there, here);
  return static_cast<T>(there + here);
}

template <class T>
void combine_all(std::uint8_t* out, const std::uint8_t* in, std::uint64_t bytes, unsigned operation) {
  for (std::uint64_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T there, here;
    std::memcpy(&there, out + at, sizeof(T));
    std::memcpy(&here, in + at, sizeof(T));
    if constexpr (std::is_arithmetic_v<T>) {
      there = combine(there, here, operation);
    } else {
      there = from_float<T>(combine(to_float(there), to_float(here), operation));
    }
    std::memcpy(out + at, &there, sizeof(T));
  }
}

}  // namespace

bool stores_atomically(const Core& core) { return ((core.control >> 6) & 7) != kNone; }

void store_to_global(Core& core, std::uint64_t target, const std::uint8_t* in, std::uint64_t bytes) {
  const unsigned type = (core.control >> 6) & 7, operation = (core.control >> 9) & 3;
  if (type == kNone) {
    std::memcpy(core.gm->write(target, bytes), in, bytes);
    return;
  }
  std::uint8_t* out = core.gm->update(target, bytes);
  const std::lock_guard<std::mutex> guard(atomic_lock());
  switch (type) {
    case kF32: return combine_all<float>(out, in, bytes, operation);
    case kF16: return combine_all<Half>(out, in, bytes, operation);
    case kS16: return combine_all<std::int16_t>(out, in, bytes, operation);
    case kS32: return combine_all<std::int32_t>(out, in, bytes, operation);
    case kS8: return combine_all<std::int8_t>(out, in, bytes, operation);
    case kBf16: return combine_all<Bfloat>(out, in, bytes, operation);
    default: throw Fault{"refused", "an atomic store of a type that is not known"};
  }
}

}  // namespace flagc::aicore
