import os
from collections.abc import Callable, Generator, Iterable, Mapping, MutableMapping, Sequence
from types import ModuleType, TracebackType
from typing import Any, Literal, final, overload

from cgraph.errors import ClosedError as ClosedError
from cgraph.errors import CompileError as CompileError
from cgraph.errors import CompileWarning as CompileWarning
from cgraph.errors import Error as Error
from cgraph.errors import ExecutionError as ExecutionError
from cgraph.errors import InputError as InputError
from cgraph.errors import LostError as LostError
from cgraph.errors import PlanError as PlanError
from cgraph.errors import TimeoutError as TimeoutError

__version__: str
__all__: list[str]

_Path = str | os.PathLike[str]
_What = Literal["graph", "schedule", "timeline", "transports", "memory"]

# A tensor: what has the buffer protocol (numpy.ndarray, memoryview), DLPack (torch.Tensor), or is a
# number; parts of a tuple in a dict or a tuple.
_Input = Any

class Range:
    file: str
    line: int
    column: int
    end_line: int
    end_column: int

class Note:
    message: str
    range: Range | None

class Fix:
    text: str
    range: Range | None

class Diagnostic:
    code: str | None
    severity: str
    message: str
    range: Range | None
    notes: list[Note]
    fixes: list[Fix]
    @property
    def file(self) -> str | None: ...

class Port:
    name: str
    dtype: str
    shape: tuple[int | str, ...]
    type: str

class GraphInfo:
    name: str
    inputs: list[Port]
    outputs: list[Port]
    bounds: dict[str, int]
    inflight: int
    @property
    def signature(self) -> str: ...

class Proof:
    proved: bool
    refusal: str | None
    message: str
    steps: list[dict[str, Any]]
    certificate: list[dict[str, Any]]
    def __bool__(self) -> bool: ...

class Plan:
    folder: str
    diagnostics: list[Diagnostic]
    def __init__(self, data: bytes, folder: str = ..., diagnostics: Iterable[Diagnostic] = ...) -> None: ...
    @property
    def graphs(self) -> dict[str, GraphInfo]: ...
    def save(self, path: _Path) -> None: ...
    def __bytes__(self) -> bytes: ...
    def simulate(
        self,
        *,
        graph: str | None = ...,
        executions: int = ...,
        workers: int | None = ...,
        profile: _Path | Mapping[str, float] | None = ...,
    ) -> dict[str, Any]: ...
    def prove(self) -> Proof: ...
    @overload
    def draw(
        self,
        what: _What = ...,
        *,
        graph: str | None = ...,
        format: Literal["dot", "svg", "html"] = ...,
        output: None = ...,
        executions: int | None = ...,
        color_by: Literal["method", "micro-batch"] | None = ...,
        width: int | None = ...,
    ) -> str: ...
    @overload
    def draw(
        self,
        what: _What = ...,
        *,
        graph: str | None = ...,
        format: Literal["png", "pdf"],
        output: None = ...,
        executions: int | None = ...,
        color_by: Literal["method", "micro-batch"] | None = ...,
        width: int | None = ...,
    ) -> bytes: ...
    @overload
    def draw(
        self,
        what: _What = ...,
        *,
        graph: str | None = ...,
        format: str = ...,
        output: _Path,
        executions: int | None = ...,
        color_by: Literal["method", "micro-batch"] | None = ...,
        width: int | None = ...,
    ) -> None: ...

@final
class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    def cpu(self) -> Array: ...
    def numpy(self) -> Any: ...
    def tolist(self) -> Any: ...
    def item(self) -> bool | int | float: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = ...,
        max_version: tuple[int, int] | None = ...,
        dl_device: tuple[int, int] | None = ...,
        copy: bool | None = ...,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __index__(self) -> int: ...
    def __format__(self, form: str, /) -> str: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    __hash__: None  # type: ignore[assignment]

class Future:
    @property
    def graph(self) -> Graph: ...
    def result(self, timeout: float | None = ...) -> Any: ...
    def exception(self, timeout: float | None = ...) -> Error | None: ...
    def done(self) -> bool: ...
    def __await__(self) -> Generator[Any, None, Any]: ...

class Graph:
    @property
    def name(self) -> str: ...
    @property
    def signature(self) -> str: ...
    def __call__(self, *args: _Input, **kwargs: _Input) -> Any: ...
    def submit(self, *args: _Input, **kwargs: _Input) -> Future: ...

class Engine:
    plan: Plan
    graphs: dict[str, Graph]
    def __init__(
        self,
        plan: Plan | _Path,
        *,
        weights: _Path | None = ...,
        libraries: (
            _Path
            | ModuleType
            | Callable[..., Any]
            | Iterable[_Path | ModuleType | Callable[..., Any]]
        ) = ...,
        device_map: str | Mapping[str, str] | None = ...,
        processes: int | Literal["device"] = ...,
        workers: int = ...,
        timeout: float | None = ...,
        inflight: int | None = ...,
        proved: bool = ...,
        require_gpus: bool = ...,
        profile: bool = ...,
        results: Literal["host", "device"] = ...,
    ) -> None: ...
    def close(self) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    @property
    def state(self) -> Mapping[str, MutableMapping[str, Any]]: ...
    def save_state(self, path: _Path) -> None: ...
    def load_state(self, path: _Path) -> list[str]: ...
    def profile(self) -> dict[str, float]: ...
    def wait_report(self) -> str: ...
    def __enter__(self) -> Engine: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def __getattr__(self, name: str) -> Graph: ...

def compile(
    source: _Path,
    *,
    graph: str | Sequence[str] | None = ...,
    defines: Mapping[str, Any] | None = ...,
    topology: _Path | None = ...,
    schedule: str | None = ...,
    include: _Path | Iterable[_Path] = ...,
    inflight: int | None = ...,
    profile: _Path | Mapping[str, float] | None = ...,
    no_warn: str | Iterable[str] = ...,
    flags: Iterable[str] = ...,
) -> Plan: ...
def load(path: _Path) -> Plan: ...
def include_dir() -> str: ...
def current_stream() -> int | None: ...
def current_device() -> str: ...
