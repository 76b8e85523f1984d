"""Engines: plans that are loaded and run."""
import atexit
import collections.abc
import functools
import os
import sys
import threading
import types
import weakref

from cgraph import _arguments, _commands, _options, _runtime
from cgraph._plan import Plan, load
from cgraph._states import States, of_objects, read_metadata
from cgraph.errors import (Error, InputError, PlanError, PlanFileNotFoundError, absent_file,
                           of_absent_file)

_engines = weakref.WeakSet()
_making_waiters = threading.Lock()
DEFAULT_TIMEOUT = 600.0


class Engine:
    """A loaded plan, ready to execute its graphs. Each graph is an attribute that is called:

        with cgraph.Engine(plan) as engine:
            scores = engine.classify(x=x)
            later = engine.classify.submit(x=x)
            scores = later.result()

    A graph that ends with `repeat` returns a list of its rows; engine.classify.rounds(x=x) is
    an iterator of them. Inputs are whatever holds a dense tensor of the right dtype: arrays of
    NumPy, tensors of PyTorch, on the CPU or a GPU, Arrays; numbers where a graph takes a
    scalar. They are read where they lie. A graph with one result returns it; one with several a
    named tuple of them. An engine may be used from several threads, and not in a process forked
    from its own. `graphs` has the graphs by their names, those too that are called as something
    else here is (`close`).

    plan: a Plan, or the path of a saved one.
    weights: the folder of the files that the plan loads; default: the source's, or the plan's.
    libraries: what methods in native code and in Python are of: the paths of shared libraries; of
        Python the modules, the paths of their files, or "python:name". A plan calls nothing of
        others. One may stand for a list of one.
    device_map: where the plan's devices run: {"gpu[0]": "cuda:0", "gpu[1]": "cpu:2"}.
    processes: how many processes serve the devices, or "device": one for each. Each has one
        worker; excludes device_map and workers. None: this one alone.
    workers: threads that serve the devices; None: as many as the plan says. Excludes device_map.
    timeout: seconds above 0 without any progress that end the engine; None: never.
    inflight: executions of a graph at once, at most; None: what the plan says.
    proved: whether to prove the plan first.
    require_gpus: whether it is an error where the plan's gpus would be CPU threads; excludes
        proved=False.
    profile: whether to measure methods, for profile().
    check_arguments: whether to see after every call of a method in native code or Python that it
        has not written its arguments; else after a place's first, second, fourth, eighth, ... one.
    results: "host", this machine's memory; or "device": a result that a GPU of this process makes
        stays in its memory.
    load_state: the path of a file that load_state() takes, whose values the states have from the
        beginning. The weight files of states that it sets are not needed. `absent_states` names
        those that it lacks.
    """

    def __init__(self, plan, *, weights=None, libraries=(), device_map=None, processes=None,
                 workers=None, timeout=DEFAULT_TIMEOUT, inflight=None, proved=True,
                 require_gpus=False, profile=False, check_arguments=False, results="host",
                 load_state=None):
        options = _options.read(
            {"workers": workers, "processes": processes, "timeout": timeout, "inflight": inflight,
             "proved": proved, "require_gpus": require_gpus, "profile": profile,
             "check_arguments": check_arguments,
             "results_on_gpus": _options.results_on_gpus(results)}, device_map)
        device_map = _options.device_map(device_map)
        if libraries is None:
            libraries = ()
        if isinstance(libraries, (str, os.PathLike, type)) or not isinstance(
                libraries, collections.abc.Iterable):
            libraries = [libraries]
        if not isinstance(plan, Plan):
            plan = load(plan)
        self._executor = None
        self._submitters = {}
        self._measures = profile
        self.plan = plan
        self.absent_states = []
        if load_state is not None:
            read_metadata(load_state)  # a file that is none is refused before weights are read
        options["weights"] = weights = _options.weights(weights, plan.folder)
        options["libraries"] = libraries = [_library(each) for each in libraries]
        rank_program, rank_arguments = _rank_program(libraries, processes)
        try:
            self._runtime = _runtime.Engine.load(
                plan._runtime, options, device_map=device_map,
                states="" if load_state is None else os.fsdecode(load_state),
                rank_program=rank_program, rank_arguments=rank_arguments)
        except Error as error:
            files = [os.path.join(weights, name) for name in plan._runtime.weights()]
            said = type(error)(_arguments.of_engine(str(error)))
            raise of_absent_file(said, files) from error.__cause__
        note = self._runtime.note_of_workers()
        if note:
            import warnings
            warnings.warn(_arguments.of_engine(note), RuntimeWarning, stacklevel=2)
        if load_state is not None:
            try:
                self.absent_states = self.load_state(load_state)
            except BaseException:
                self._runtime.close()
                raise
        self.graphs = {}
        for name, info in plan.graphs.items():
            graph = _runtime.make_graph(self._runtime, plan._runtime, info._index, info.signature,
                                        packer(info))
            graph.__doc__ = _document(info)
            graph._owner = weakref.ref(self)
            self.graphs[name] = graph
            if not hasattr(type(self), name):
                self.__dict__.setdefault(name, graph)
        _engines.add(self)

    def close(self):
        """Ends the engine: what is in flight fails with ClosedError, results stay valid. Again does
        nothing."""
        self._runtime.close()
        with _making_waiters:
            executors = [self._executor, *self._submitters.values()]
            self._submitters = {}  # what is called from now on is told that the engine is closed
        for executor in executors:
            if executor is not None:
                executor.shutdown(wait=False)

    def stats(self):
        """What the engine has done: counts of executions and errors, bytes, its processes, and the
        GPUs that the plan's devices run on. `ended`: why the engine has ended; None while it goes
        on."""
        return self._runtime.stats()

    @property
    def state(self):
        """The states of the actors: engine.state["stage[0]"]["w"] is a copy of one, and is set by
        an assignment. Executions must not be in flight then."""
        return States(self._runtime)

    def save_state(self, path, *, metadata=None):
        """Writes all states, and what objects in native code and Python can save, as their
        state_dict() says, into a .safetensors file, whole or not at all. Warns of objects that
        cannot be saved. Raises ExecutionError where saving one fails. `metadata` is what the file
        says beside that, names and texts, which read_metadata() returns: {"epoch": "3"}."""
        metadata = _metadata(metadata)
        path = os.fsdecode(path)
        if not path.endswith(".safetensors"):
            name, ending = os.path.splitext(path)
            if ending not in (".npz", ".npy", ".pt", ".pth"):
                name += ending
            raise InputError(f"states are written as .safetensors; name the file "
                             f"{name}.safetensors")
        with absent_file(os.path.dirname(path)):
            note = _runtime.save_states(self._runtime, path, metadata)
        if note:
            import warnings
            warnings.warn(note, RuntimeWarning, stacklevel=2)

    def load_state(self, path):
        """Sets the states and objects that a file of save_state() or `cgrun --save-state` has.
        Returns the names of those that it lacks, which keep their values. Raises InputError where a
        tensor of the file is no state of the plan, or of another type, and ExecutionError where an
        object refuses what it is given; then nothing is set."""
        with absent_file(path):
            return _runtime.load_states(self._runtime, os.fsdecode(path))

    def objects(self):
        """What save_state() would write of the places' objects, as values: by place, in "self" what
        its state_dict() returns, and by its name what an attribute beside it keeps, an optimizer of
        a module. Of objects in native code the bytes. Waits and fails as save_state() does."""
        return of_objects(self._runtime)

    def profile(self):
        """Mean nanoseconds for each method, by "Actor.method". It may be given to
        compile(profile=). Raises Error where the engine was made without profile=True."""
        if not self._measures:
            raise Error("this engine measures no methods; `cgraph.Engine(plan, profile=True)` does")
        return dict(self._runtime.profile())

    def wait_report(self):
        """Who waits for whom, right now, in words; of an engine that has ended, why."""
        return self._runtime.wait_report()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getattr__(self, name):
        graphs = self.__dict__.get("graphs", ())
        place = self._about_place(name)
        if place is not None:
            raise AttributeError(f"`{name}` is a place, and graphs are called; {place}")
        raise AttributeError(f"the plan has no graph `{name}`; its graphs: {', '.join(graphs)}")

    def _about_place(self, name):
        """What to say of a place of that name; None of an engine that is closed, or not yet
        made."""
        try:
            return self.state.about(name) if "graphs" in self.__dict__ else None
        except Error:
            return None

    def __repr__(self):
        return f"<cgraph.Engine of {self.plan!r}>"

    def __reduce__(self):
        raise TypeError("an engine cannot be pickled; send its plan, and make one of it there")

    def _waiters(self):
        """Threads that wait for what is awaited."""
        with _making_waiters:
            if self._executor is None:
                from concurrent.futures import ThreadPoolExecutor
                inflight = sum(graph.inflight for graph in self.plan.graphs.values())
                self._executor = ThreadPoolExecutor(min(32, max(4, inflight)), "cgraph-await")
            return self._executor

    def _submitter(self, name):
        """The thread that submits what is called of a graph by call_async(), in the order of the
        calls."""
        with _making_waiters:
            if name not in self._submitters:
                from concurrent.futures import ThreadPoolExecutor
                self._submitters[name] = ThreadPoolExecutor(1, f"cgraph-submit-{name}")
            return self._submitters[name]


def _library(given):
    """What the engine takes: a path, or "python:name" of a module, a class or a function."""
    if isinstance(given, types.ModuleType):
        return f"python:{given.__name__.partition('.')[0]}"
    if isinstance(given, (type, types.FunctionType)):
        return f"python:{given.__module__.partition('.')[0]}"
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(
            f"`libraries` was given an object of the type {type(given).__name__}; give the module, "
            "class or function: each place makes an object of its own, from the actor's parameters")
    path = os.fspath(given)
    problem = _runtime.check_library(path)
    if problem:
        said = f"`libraries=[{path!r}]`: {problem}"
        raise PlanError(said) if os.path.exists(path) else PlanFileNotFoundError(said, path)
    return path if path.startswith("python:") else os.path.abspath(path)


def _metadata(given):
    """What a file of states says of itself, as a dict of texts."""
    given = dict(given or {})
    for word in (*given, *given.values()):
        try:
            word.encode()
        except (AttributeError, UnicodeEncodeError):
            raise InputError(f"`metadata` is of names and texts, and {word!r} is none; write a "
                             "number as str(number), anything else as json.dumps() does") from None
    return given


def _rank_program(libraries, processes):
    """What the processes run: Python itself where there are methods in Python."""
    if not any(_runtime.is_python_module(path) for path in libraries):
        return _commands.path("cgrun"), []
    if processes and "python:__main__" in libraries:
        raise InputError("the classes and functions of a notebook or script (`__main__`) are not "
                         "in other processes; put them into a module, a file of their own")
    from cgraph import _rank
    return sys.executable, _rank.program()


def _document(info):
    lines = [info.signature, "", "Inputs:"]
    lines += [f"    {port!r}" for port in info.inputs] or ["    none"]
    lines += ["Results:"] + [f"    {port!r}" for port in info.outputs]
    if info.bounds:
        lines += ["where " + ", ".join(f"{name} is at most {bound}"
                                       for name, bound in info.bounds.items())]
    return "\n".join(lines)


def packer(info):
    """What makes the value of a graph of the tuple of its results, in the ports' order. None: the
    only result is the value."""
    paths = [_runtime.port_path(port.name) for port in info.outputs]
    if len(paths) == 1 and len(paths[0]) == 1:
        return None
    roots = {path[0] for path in paths}
    if roots == {"result"} and all(len(path) > 1 for path in paths):
        paths = [path[1:] for path in paths]  # a result without a name
    if all(len(path) == 1 for path in paths) and all(isinstance(p[0], str) for p in paths):
        return _named(info.name, [path[0] for path in paths])
    return _builder(info.name, list(enumerate(paths)))


@functools.lru_cache
def _type_of_results(name, fields):
    from collections import namedtuple
    made = namedtuple(name if name.isidentifier() else "results", fields, rename=True)
    made.__reduce__ = lambda results: (_results, (name, fields, tuple(results)))
    return made


def _named(name, fields):
    """A type of named tuples, one for each name and fields; what is of it can be pickled."""
    return _type_of_results(name, tuple(fields))


def _results(name, fields, values):
    """What was pickled, in whatever process that is undone."""
    return _type_of_results(name, fields)._make(values)


def _builder(name, leaves):
    """A function that makes the value of these leaves, (position, path), of the flat tuple."""
    if len(leaves) == 1 and not leaves[0][1]:
        position = leaves[0][0]
        return lambda values: values[position]
    branches = {}
    for position, path in leaves:
        branches.setdefault(path[0], []).append((position, path[1:]))
    parts = [_builder(f"{name}_{key}", below) for key, below in branches.items()]
    if all(isinstance(key, int) for key in branches):
        return lambda values: tuple(part(values) for part in parts)
    named = _named(name, [str(key) for key in branches])
    return lambda values: named._make(part(values) for part in parts)


def _await(future):
    if not future.done():
        import asyncio
        owner = future.graph._owner()
        executor = owner._waiters() if owner is not None else None
        yield from asyncio.get_running_loop().run_in_executor(executor, future.result).__await__()
    return future.result()


async def _call_async(graph, /, *args, **kwargs):
    """Executes the graph and returns the value, for programs of asyncio's: neither room for the
    execution nor its result is waited for on the loop's thread. A thread of the engine submits, in
    the order of the calls. One that is cancelled before that is not executed."""
    import asyncio
    import functools
    owner = graph._owner()
    submitter = owner._submitter(graph.name) if owner is not None else None
    future = await asyncio.get_running_loop().run_in_executor(
        submitter, functools.partial(graph.submit, *args, **kwargs))
    return await future


def _concurrent(future):
    """Returns a concurrent.futures.Future of the same result, for `as_completed`, `wait` and
    `add_done_callback`. A thread waits for it, and so does the end of the program. An execution
    that was submitted cannot be cancelled."""
    from concurrent.futures import Future
    same = Future()
    same.set_running_or_notify_cancel()

    def settle():
        try:
            result = future.result()
        except Exception as error:
            same.set_exception(error)
        else:
            same.set_result(result)

    if future.done():
        settle()
    else:
        threading.Thread(target=settle, name="cgraph-wait").start()
    return same


_runtime.Future.__await__ = _await
_runtime.Future.concurrent = _concurrent
_runtime.Graph.call_async = _call_async


@atexit.register
def _close_all():
    for engine in list(_engines):
        if engine._runtime.usable:
            engine.close()
