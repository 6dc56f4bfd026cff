"""`persistent-blocks`: every tile once, in the order asked for."""

import pytest

from flagc.ir.module import Module
from flagc.ir.staged.operations import MAX_BLOCKS
from flagc.ir.staged.verify import find_problem
from flagc.passes.ascend.persistent_blocks import PersistentBlocks
from flagc.pipeline.context import PassContext
from flagc.pipeline.diagnostics import Findings, PassFailure
from flagc.targets.ascend.chips import chip

ARGUMENTS = "%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>, %n: i32"
BODY = """
%k64 = "arith.constant"() {value = 64 : i64} : () -> i64
%zero = "arith.constant"() {value = 0 : i32} : () -> i32
%one = "arith.constant"() {value = 1 : i32} : () -> i32
%true = "arith.constant"() {value = true} : () -> i1
%nine = "arith.muli"(%n, %n) : (i32, i32) -> i32
"""
IDS = "".join(
    f'%p{axis} = "tt.get_program_id"() {{axis = {axis} : i32}} : () -> i32\n'
    f'%q{axis} = "arith.extsi"(%p{axis}) : (i32) -> i64\n'
    for axis in range(3)
)
PRODUCT = """
%l0c = "staged.alloc"() : () -> !staged.tile<l0c, 16x16xf32>
%l1a = "staged.alloc"() : () -> !staged.tile<l1, 16x16xf16>
%l1b = "staged.alloc"() : () -> !staged.tile<l1, 16x16xf16>
"staged.nd2nz"(%a, ROWS, %k64, %n, %n, %l1a) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
"staged.nd2nz"(%b, COLUMNS, %k64, %nine, %n, %l1b) : (!tt.ptr<f16>, i64, i64, i32, i32, !staged.tile<l1, 16x16xf16>) -> ()
%l0a = "staged.alloc"() : () -> !staged.tile<l0a, 16x16xf16>
%l0b = "staged.alloc"() : () -> !staged.tile<l0b, 16x16xf16>
"staged.load_l0a"(%l1a, %zero, %zero, %n, %n, %l0a) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0a, 16x16xf16>) -> ()
"staged.load_l0b"(%l1b, %zero, %zero, %n, %n, %l0b) : (!staged.tile<l1, 16x16xf16>, i32, i32, i32, i32, !staged.tile<l0b, 16x16xf16>) -> ()
"staged.mad"(%l0a, %l0b, %l0c, %n, %n, %n, %true) : (!staged.tile<l0a, 16x16xf16>, !staged.tile<l0b, 16x16xf16>, !staged.tile<l0c, 16x16xf32>, i32, i32, i32, i1) -> ()
"staged.fixpipe"(%l0c, %c, %q0, %k64, %p1, %p2) : (!staged.tile<l0c, 16x16xf32>, !tt.ptr<f32>, i64, i64, i32, i32) -> ()
"""  # noqa: E501


def kernel(rows="%q0", columns="%q1", body=None):
    product = PRODUCT.replace("ROWS", rows).replace("COLUMNS", columns)
    kinds = ", ".join(part.split(": ")[1] for part in ARGUMENTS.split(", "))
    return Module.parse(
        f'"tt.func"() ({{\n^bb0({ARGUMENTS}):\n{BODY}{body or IDS + product}'
        '"tt.return"() : () -> ()\n}) '
        f'{{function_type = ({kinds}) -> (), sym_name = "kernel"}} : () -> ()',
        "staged",
    )


def changed(module, instance, target=None):
    findings = Findings()
    context = PassContext(module, instance.name, "staged", target, {}, findings)
    with module.context:
        instance.run(module, context)
    assert find_problem(module) is None
    return [diagnostic.message for diagnostic in findings.diagnostics]


class Blocks:
    """Runs the scalar ops of a kernel; notes the program ids that reach the store."""

    def __init__(self, grid):
        self._grid = grid
        self.stored = []

    def run(self, module):
        (function,) = module.functions()
        blocks = function.regions[0].blocks[0]
        launched = self._grid[0] * self._grid[1] * self._grid[2]
        if MAX_BLOCKS in function.attributes:
            launched = min(launched, function.attributes[MAX_BLOCKS].value)
        for block in range(launched):
            self._block(blocks, {"block": block})
        return self.stored

    def _block(self, block, values):
        for child in block.operations:
            self._op(child.operation, values)

    def _op(self, op, values):
        operands = [values.get(operand, 0) for operand in op.operands]
        name, axis = op.name, op.attributes["axis"].value if "axis" in op.attributes else None
        if name == "scf.for":
            first, end, step = operands
            inside = op.regions[0].blocks[0]
            for index in range(first, end, step):
                self._block(inside, {**values, inside.arguments[0]: index})
        elif name == "tt.get_program_id":
            x, y, z = self._grid
            block = values["block"]
            values[op.results[0]] = (block // z // y % x, block // z % y, block % z)[axis]
        elif name == "staged.block_index":
            values[op.results[0]] = values["block"]
        elif name == "staged.grid_size":
            values[op.results[0]] = self._grid[axis]
        elif name == "staged.fixpipe":
            self.stored.append((operands[2], operands[4], operands[5]))
        elif name == "arith.constant":
            values[op.results[0]] = int(op.attributes["value"].value)
        elif name in _ARITHMETIC:
            values[op.results[0]] = _ARITHMETIC[name](*operands)


_ARITHMETIC = {
    "arith.muli": lambda left, right: left * right,
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.divsi": lambda left, right: left // right,
    "arith.remsi": lambda left, right: left % right,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.extsi": lambda value: value,
}


@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 3, 2), (2, 1, 1), (7, 4, 1)])
@pytest.mark.parametrize("options", [{}, {"group_m": 1}, {"group_m": 3}])
def test_every_tile_once(grid, options):
    module = kernel()
    plain = Blocks(grid).run(module)
    assert changed(module, PersistentBlocks(cores=4, **options)) == []
    assert sorted(Blocks(grid).run(module)) == sorted(plain)


def test_order_is_that_of_the_launch():
    module = kernel()
    plain = Blocks((5, 3, 2)).run(module)
    changed(module, PersistentBlocks(cores=1))
    assert Blocks((5, 3, 2)).run(module) == plain


@pytest.mark.parametrize(("rows", "columns", "row_axis"), [("%q0", "%q1", 0), ("%q1", "%q0", 1)])
def test_groups_of_rows(rows, columns, row_axis):
    """As in Triton's tutorial: down the rows of a group, then to the next column."""
    module = kernel(rows, columns)
    changed(module, PersistentBlocks(cores=1, group_m=2))
    grid = (3, 2, 1) if row_axis == 0 else (2, 3, 1)
    order = [(ids[row_axis], ids[1 - row_axis]) for ids in Blocks(grid).run(module)]
    assert order == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]


def test_cores_of_the_target_and_what_stays_outside():
    module = kernel()
    changed(module, PersistentBlocks(), chip("910B1"))
    (function,) = module.functions()
    assert function.attributes[MAX_BLOCKS].value == 24
    (product,) = [op for op in module.walk("arith.muli") if op.operands[0] == op.operands[1]]
    assert product.parent.name == "tt.func"
    assert next(module.walk("staged.alloc")).parent.name == "scf.for"


def test_a_kernel_that_splits_one_id_keeps_its_order():
    split = """
%p0 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
%p1 = "arith.divsi"(%p0, %n) : (i32, i32) -> i32
%p2 = "arith.remsi"(%p0, %n) : (i32, i32) -> i32
%q0 = "arith.extsi"(%p1) : (i32) -> i64
%q1 = "arith.extsi"(%p2) : (i32) -> i64
"""
    product = PRODUCT.replace("ROWS", "%q0").replace("COLUMNS", "%q1")
    module = kernel(body=split + product)
    (said,) = changed(module, PersistentBlocks(cores=2, group_m=4))
    assert "group-m is left out" in said
    assert next(module.walk("scf.for"), None) is not None


def test_a_kernel_that_is_persistent_is_left_alone():
    loop = """
%p0 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
%step = "tt.get_num_programs"() {axis = 0 : i32} : () -> i32
"scf.for"(%p0, %n, %step) ({
^bb0(%i: i32):
  "scf.yield"() : () -> ()
}) : (i32, i32, i32) -> ()
"""
    module = kernel(body=loop)
    before = module.text()
    (said,) = changed(module, PersistentBlocks(cores=2))
    assert "works through tiles already" in said
    assert module.text() == before
    module = kernel()
    changed(module, PersistentBlocks(cores=2))
    assert "persistent already" in changed(module, PersistentBlocks(cores=2))[0]


def test_needs_a_number_of_cores():
    with pytest.raises(PassFailure, match="say how many cores"):
        changed(kernel(), PersistentBlocks())
    with pytest.raises(PassFailure, match="must not be negative"):
        changed(kernel(), PersistentBlocks(cores=-1))
