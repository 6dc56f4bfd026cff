"""Bundles: what `-o DIR` writes for a CUDA kernel, and how it is launched where there is a GPU.

`KERNEL.json` has, under `launch`, all that a launch needs besides `KERNEL.cubin`: no Triton and no
compiler is involved any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from flagc.errors import UsageError, nearest
from flagc.frontend.execution import Argument
from flagc.frontend.launch import Launch
from flagc.pipeline.compiler import CompileResult
from flagc.pipeline.scratch_memory import torch_scratch
from flagc.pipeline.target import KernelSource, PairSource
from flagc.targets.cuda.driver_api import CudaDriver, cuda_driver
from flagc.targets.cuda.executor import require_gpu
from flagc.targets.cuda.facts import cuda_facts
from flagc.targets.cuda.kernel_image import KernelImage

_FORMAT = 3
_VALUE, _DIVISIBILITY = "flagc.value", "tt.divisibility"


def launch_document(launch: Launch, result: CompileResult, cubin_file: str) -> dict[str, Any]:
    """Return the `launch` part of `KERNEL.json`; {} for IR without a kernel's signature."""
    source = launch.source
    if not isinstance(source, (KernelSource, PairSource)):
        return {}
    names = source.function.arg_names
    constants = {path[0]: value for path, value in source.constexprs.items() if len(path) == 1}
    arguments: list[dict[str, Any]] = []
    for index, name in enumerate(names):
        if index in constants:
            arguments.append({"name": name, "constant": _plain(constants[index])})
        else:
            promised = dict(source.attributes.get((index,)) or ())
            argument = {"name": name, "type": str(source.signature[name])}
            if _VALUE in promised:
                argument["value"] = promised[_VALUE]
            arguments.append({**argument, "divisible_by": promised.get(_DIVISIBILITY, 1)})
    if isinstance(source, PairSource):
        _bind(arguments, source)
    return {
        "format": _FORMAT,
        "target": result.target,
        "cubin": cubin_file,
        "arguments": arguments,
        "grids": [list(grid) for grid in launch.grids],
        "only_these_grids": isinstance(source, PairSource),
        "facts": dict(KernelImage.of(result).facts),
    }


def _bind(arguments: list[dict[str, Any]], source: PairSource) -> None:
    """Note the integers that merged kernels were proved equal to two launches for."""
    numbers = (source.follow_up.first, source.follow_up.second)
    values = [value for part in numbers for value in part.values]
    runtime = [argument for argument in arguments if "constant" not in argument]
    for argument, value in zip(runtime, values, strict=True):
        if argument["type"][0] in "iu":
            argument["value"] = value


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)


@dataclass
class BundledKernel:
    """A kernel of a bundle: `kernel[grid](*arguments)` launches it on torch's current stream.

    Attributes:
        parameters: the arguments as KERNEL.json has them, constants included.
        grids: the grids that the script launched it with.
        only_these_grids: whether it is right for no other grid.
    """

    name: str
    target: str
    image: KernelImage
    parameters: Sequence[dict[str, Any]]
    grids: Sequence[tuple[int, ...]]
    only_these_grids: bool = False
    driver: Callable[[], CudaDriver] = field(default=cuda_driver, repr=False)

    def __getitem__(self, grid: Sequence[int]) -> Callable[..., None]:
        """Return a function that launches with `grid`, one to three numbers."""
        x, y, z = [*map(int, grid), 1, 1][:3]
        return partial(self.launch, (x, y, z))

    def launch(self, grid: tuple[int, int, int], *values: Any, **named: Any) -> None:
        """Launch once, without waiting; arguments as the script gave them to the Triton kernel.

        Arguments that the kernel was compiled for may be left out.

        Raises:
            UsageError: an argument is missing, unknown, or not what the kernel was compiled for.
            EnvironmentProblem: there is no GPU, or the driver refuses.
        """
        import torch

        if self.only_these_grids and grid not in self.grids:
            raise UsageError(
                f"kernel '{self.name}' was compiled for the grid {self.grids[0]}, not {grid}: "
                "compile it again for this one"
            )
        require_gpu(cuda_facts(self.target.partition(":")[2]).capability, self.target)
        arguments = self.arguments(*values, **named)
        stream = torch.cuda.current_stream().cuda_stream
        self.image.launch(self.driver(), grid, arguments, stream, torch_scratch)

    def arguments(self, *values: Any, **named: Any) -> list[Argument]:
        """Return the arguments that reach the kernel, checked; see `launch`."""
        names = [parameter["name"] for parameter in self.parameters]
        if len(values) > len(names):
            raise UsageError(
                f"kernel '{self.name}' has {len(names)} arguments, {len(values)} given"
            )
        given = dict(zip(names, values, strict=False))
        for name, value in named.items():
            if name not in names:
                raise UsageError(
                    f"kernel '{self.name}' has no argument '{name}'; {nearest(name, names)}"
                )
            if name in given:
                raise UsageError(f"argument '{name}' is given twice")
            given[name] = value
        found = []
        for parameter in self.parameters:
            name = parameter["name"]
            if "constant" in parameter:
                self._check_constant(parameter, given)
            elif name not in given:
                raise UsageError(f"argument '{name}' ({parameter['type']}) is missing")
            else:
                self._check_promise(parameter, given[name])
                found.append(Argument(name, parameter["type"], given[name]))
        return found

    def _check_constant(self, parameter: dict[str, Any], given: dict[str, Any]) -> None:
        name, wanted = parameter["name"], parameter["constant"]
        if name in given and _plain(given[name]) != wanted:
            raise UsageError(
                f"kernel '{self.name}' was compiled for {name}={wanted}, not {given[name]}: "
                "compile it again for this value"
            )

    def _check_promise(self, parameter: dict[str, Any], value: Any) -> None:
        """Refuse an argument that the kernel was not compiled for."""
        base = getattr(value, "base", value)
        number = value if isinstance(value, int) else base.data_ptr()
        what = "" if isinstance(value, int) else "the address of "
        divisor, wanted = parameter["divisible_by"], parameter.get("value", number)
        if number != wanted:
            promise = f"={wanted}"
        elif divisor > 1 and number % divisor:
            promise = f" divisible by {divisor}"
        else:
            return
        raise UsageError(
            f"kernel '{self.name}' was compiled for {what}{parameter['name']}{promise}, "
            f"which {number} is not: compile it again for such arguments"
        )


def load_bundle(folder: str | Path) -> dict[str, BundledKernel]:
    """Return the kernels that `flagc ... --target cuda -o DIR` wrote into `folder`, by file stem.

    Raises:
        UsageError: the folder holds no bundle, or one with a cubin missing.
    """
    kernels: dict[str, BundledKernel] = {}
    for path in sorted(Path(folder).glob("*.json")):
        try:
            document = json.loads(path.read_text())
        except ValueError:
            continue
        launch = document.get("launch") if isinstance(document, dict) else None
        if launch:
            kernels[path.stem] = _read_kernel(path, launch)
    if not kernels:
        raise UsageError(
            f"{folder} holds no bundle; write one with `flagc kernel.py --target cuda -o {folder}`"
        )
    return kernels


def _read_kernel(path: Path, launch: dict[str, Any]) -> BundledKernel:
    if launch.get("format") != _FORMAT:
        raise UsageError(f"{path}: a bundle of another version of flagc; write it again")
    cubin = path.parent / launch["cubin"]
    if not cubin.is_file():
        raise UsageError(f"{cubin} is missing: write the bundle without --dump-ir and --emit")
    image = KernelImage(cubin.read_bytes(), launch["facts"])
    grids = [tuple(grid) for grid in launch["grids"]]
    only = launch["only_these_grids"]
    return BundledKernel(path.stem, launch["target"], image, launch["arguments"], grids, only)
