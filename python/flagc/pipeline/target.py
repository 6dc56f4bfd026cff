"""The protocol that every target implements, and the sources a compilation can start from."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flagc.errors import UsageError
from flagc.pipeline.diagnostics import Diagnostic
from flagc.pipeline.stages import Payload, Stage


@dataclass(frozen=True)
class KernelSource:
    """A Triton kernel specialised for one launch.

    Attributes:
        function: the `triton.JITFunction`.
        signature: Triton type text by argument name (`*fp16`, `i32`, `constexpr`).
        constexprs: values by argument path, as `ASTSource` takes them.
        attributes: specialisations (`tt.divisibility`) by argument path.
    """

    function: Any
    signature: Mapping[str, Any]
    constexprs: Mapping[Any, Any]
    attributes: Mapping[Any, Any]

    @property
    def name(self) -> str:
        """The kernel function's name."""
        return str(self.function.__name__)

    def key(self) -> str:
        """Return a text that changes whenever the kernel or its specialisation does."""
        return "|".join(
            (
                self.function.cache_key,
                repr(sorted(self.signature.items())),
                repr(sorted((str(k), _constant_key(v)) for k, v in self.constexprs.items())),
                repr(sorted((str(k), str(v)) for k, v in self.attributes.items())),
            )
        )


def _constant_key(value: Any) -> str:
    return (
        str(value.cache_key) if hasattr(value, "cache_key") else f"{type(value).__name__}:{value}"
    )


@dataclass(frozen=True)
class IrSource:
    """IR text of one stage, read from a file; compilation goes on after that stage.

    Attributes:
        name: the name given to the kernel in messages and file names.
        stage: the stage whose result `content` is.
        path: the file that holds the IR.
        content: the file's text.
    """

    name: str
    stage: str
    path: Path
    content: str

    def key(self) -> str:
        """Return a text that changes whenever the IR, or the path its locations name, does."""
        return f"{self.stage}|{self.path}|{hashlib.sha256(self.content.encode()).hexdigest()}"


class PairFunction:
    """Two kernel functions as one, with the arguments of both.

    Arguments of the second that are called like one of the first get the prefix `then_`.
    """

    def __init__(self, first: Any, second: Any) -> None:
        self.parts = (first, second)
        self.__name__ = f"{first.__name__}_then_{second.__name__}"
        names = list(first.arg_names)
        for name in second.arg_names:
            names.append(f"then_{name}" if name in first.arg_names else name)
        self.arg_names = names


@dataclass(frozen=True)
class PairSource:
    """Two kernels, of which a script launched one right after the other, as one to compile.

    Some pass has to merge them; without it they do not compile.

    Attributes:
        follow_up: how they were launched (`flagc.ir.follow_up.FollowUp`).
    """

    first: KernelSource
    second: KernelSource
    follow_up: Any

    @property
    def name(self) -> str:
        """The names of both."""
        return str(self.function.__name__)

    @property
    def function(self) -> PairFunction:
        """Both functions as one."""
        return PairFunction(self.first.function, self.second.function)

    @property
    def signature(self) -> dict[str, Any]:
        """The types of both kernels' arguments."""
        types = [
            part.signature[name]
            for part in (self.first, self.second)
            for name in part.function.arg_names
        ]
        return dict(zip(self.function.arg_names, types, strict=True))

    @property
    def constexprs(self) -> dict[Any, Any]:
        """The values of both kernels' constexprs."""
        return self._joined(self.first.constexprs, self.second.constexprs)

    @property
    def attributes(self) -> dict[Any, Any]:
        """The specialisations of both kernels."""
        return self._joined(self.first.attributes, self.second.attributes)

    def key(self) -> str:
        """Return a text that changes whenever one of the kernels or the launches do."""
        return f"{self.first.key()}|then|{self.second.key()}|{self.follow_up.text()}"

    def _joined(self, first: Mapping[Any, Any], second: Mapping[Any, Any]) -> dict[Any, Any]:
        shift = len(self.first.function.arg_names)
        return {**first, **{(path[0] + shift, *path[1:]): v for path, v in second.items()}}


Source = KernelSource | IrSource | PairSource


@dataclass
class Compilation:
    """A compilation that a target has prepared.

    Attributes:
        stages: all stages in order.
        payload: what the first stage to run takes; None when it comes from an `IrSource`.
        options: the complete compile options.
        metadata: what stages note for launching (`shared`, `num_warps`, `mix_mode`, ...).
        diagnostics: notes of the target about this compilation, e.g. a tool that is missing.
    """

    stages: list[Stage]
    payload: Payload
    options: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)


class Target(ABC):
    """One chip to compile for.

    Attributes:
        name: the complete name, e.g. `cuda:sm90` or `ascend:910B3`.
        facts: the chip's data, handed to passes as `context.target`.
        default_passes: pipeline text that runs, after the user's passes of the same level, unless
            the user leaves passes out.
        lowering_passes: pipeline text of passes that are a level's own lowering: the user's run
            after them, or replace them.
        needed_passes: names of the lowering passes without which nothing can be executed.
        takes_pairs: whether `begin`, and the executor, know launches of two kernels (`PairSource`).
    """

    name: str
    facts: Any
    default_passes: str = ""
    lowering_passes: str = ""
    needed_passes: frozenset[str] = frozenset()
    takes_pairs: bool = False

    @abstractmethod
    def triton_target(self) -> Any:
        """Return the `GPUTarget` that Triton's frontend specialises kernels for."""

    def with_pipeline(self, name: str) -> Target:
        """Return this target with the lowering called `name` (`--pipeline`).

        Raises:
            UsageError: there is no such lowering.
        """
        raise UsageError(f"--pipeline chooses between lowerings of ascend; {self.name} has one")

    @abstractmethod
    def device_properties(self) -> dict[str, int]:
        """Return what Triton's `get_device_properties` tells a script that only records."""

    @abstractmethod
    def stages(self) -> list[Stage]:
        """Return the stages with their steps, for checking and listing; they are not run."""

    @abstractmethod
    def begin(self, source: Source, options: Mapping[str, Any]) -> Compilation:
        """Prepare the compilation of `source`.

        Raises:
            KernelError: the kernel has an error of its own (with the user's line).
        """

    def executor(self, **settings: Any) -> Any:
        """Return what executes launches (`flagc.frontend.execution.Executor`).

        Raises:
            UsageError: this target's launches cannot be executed here.
        """
        raise UsageError(f"launches for {self.name} cannot be executed by flagc")

    def resources(self, result: Any) -> Any:
        """Return what a compiled kernel uses of the chip; it has `describe()` and `tables()`.

        Raises:
            UsageError: this target has no such report.
        """
        raise UsageError(f"--resources reads cubins; {self.name} has none")

    def launch_document(self, launch: Any, result: Any, name: str) -> dict[str, Any]:
        """Return what `NAME.json` says, under `launch`, of how the files written are launched."""
        return {}

    def bench_device(self) -> Any:
        """Return what times launches (`flagc.bench.device.BenchDevice`).

        Raises:
            UsageError: times of this target's launches mean nothing here.
        """
        raise UsageError(f"--bench is for cuda: launches for {self.name} are not timed")

    def model(self) -> str:
        """Name the model that times this target's launches in place of a device; '' if none does.

        Its executors then have `time` (`flagc.bench.modelled.TimingExecutor`).
        """
        return ""

    def tensor_device(self) -> str:
        """Return the torch device on which `executor` takes a script's tensors by preference."""
        return "cpu"

    @abstractmethod
    def key(self) -> str:
        """Return a text that changes with the target and the versions of its toolchain."""
