"""cgraph: distributed tensor programs whose structure is known before they run.

    import cgraph

    plan = cgraph.compile("classify.cgraph", defines={"B": 64})
    with cgraph.Engine(plan, weights="weights") as engine:
        label = engine.classify(x=images).label

A program in the language of cgraph is compiled to a plan that is proved not to deadlock; an Engine
runs it. Results are Arrays, which NumPy and PyTorch read without a copy.
"""
from cgraph._arrays import permutation  # and gives Array its methods
from cgraph._commands import include_dir
from cgraph._diagnostics import Diagnostic, Fix, Note, Range
from cgraph._engine import Engine
from cgraph._methods import current_device, current_stream, writes
from cgraph._plan import GraphInfo, Plan, Port, Proof, compile, load
from cgraph._runtime import Array, Future, Graph, Rounds
from cgraph._states import read_metadata, read_objects
from cgraph.errors import (ClosedError, CompileError, CompileWarning, Error, ExecutionError,
                           FileNotFoundError, InputError, LostError, PlanError, TimeoutError)

__all__ = ["Array", "ClosedError", "CompileError", "CompileWarning", "Diagnostic", "Engine",
           "Error", "ExecutionError", "FileNotFoundError", "Fix", "Future", "Graph", "GraphInfo",
           "InputError", "LostError", "Note", "Plan", "PlanError", "Port", "Proof", "Range",
           "Rounds", "TimeoutError", "compile", "current_device", "current_stream", "include_dir",
           "load", "permutation", "read_metadata", "read_objects", "writes"]
__version__ = "0.1.0"
