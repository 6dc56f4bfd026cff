#pragma once

#include <nanobind/nanobind.h>

namespace flagc::aicore::timing {

void bind(nanobind::module_& m);

}  // namespace flagc::aicore::timing
