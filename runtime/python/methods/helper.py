"""What libcgraph_python.so does in Python: modules, the methods and objects of them, and the text
of what was raised. It is compiled into the library, gpus.py, stored.py and autograd.py
behind it."""
import atexit
import importlib
import importlib.util
import inspect
import itertools
import os
import sys
import threading
import traceback
import types

MOST_TEXT = 1800  # bytes of an error: with several processes more is cut
MOST_RAISED = 32
# What was raised last, for the program that hears of it as an error's text: (text, what was
# raised, whether on the main thread), by its number.
_raised, _numbers = {}, itertools.count()


def start_process():
    """For an interpreter of the runner's: standard output is for its results."""
    sys.stdout = sys.stderr
    sys.argv = [""]


def begin_thread():
    """On a thread that has called nothing yet. What `torch.set_num_threads` was told counts for the
    threads that have asked PyTorch since; the products of others would take every core."""
    torch = sys.modules.get("torch")
    if hasattr(torch, "get_num_threads"):
        torch.get_num_threads()


def at_end(function):
    atexit.register(function)


def open_modules(entries):
    """Sees to it that the modules which the user has named are found: files, and folders of
    packages, before anything else of these names. Those of "python:name" are where Python looks.
    What is one of these, runtime/native has decided (IsPythonModule)."""
    publish()
    named = {}
    for entry in entries:
        if entry.startswith("python:"):
            _Named.files.pop(entry.removeprefix("python:").partition(".")[0], None)
            continue
        path = os.path.abspath(entry)
        name = os.path.splitext(os.path.basename(path))[0]
        if not os.path.exists(path):
            raise LookupError(f"there is no {path}")
        if not name.isidentifier():
            raise LookupError(f"{path}: `{name}` is no name of a module")
        loaded = _file_of(sys.modules.get(name))
        if name in sys.modules and not (loaded and _is_below(loaded, path)):
            raise LookupError(f"{path} is named, and the module `{name}` that is loaded is "
                              f"{loaded or 'one of Python itself'}; give one of them another name")
        if not os.path.samefile(named.setdefault(name, path), path):
            raise LookupError(f"{named[name]} and {path} are named, and Python has one module "
                              f"`{name}`; give one of them another name")
    for name, path in named.items():
        _Named.files[name] = os.path.join(path, "__init__.py") if os.path.isdir(path) else path
        folder = os.path.dirname(path)  # of what the module imports beside itself
        if folder not in sys.path:
            sys.path.insert(0, folder)
    if _Named not in sys.meta_path:
        sys.meta_path.insert(0, _Named)


class _Named:
    """Finds modules where the user has named them, in whatever order sys.path has others of these
    names."""
    files = {}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        file = cls.files.get(name) if path is None else None
        return file and importlib.util.spec_from_file_location(name, file)


def _file_of(module):
    file = getattr(module, "__file__", None)
    return os.path.abspath(file) if file else None


def _is_below(file, path):
    return os.path.realpath(file) == os.path.realpath(path) or \
        os.path.realpath(file).startswith(os.path.realpath(path) + os.sep)


def import_module(symbol):
    """Imports the module of what a symbol names. Returns None, or what the module itself has
    raised, as text; raises LookupError where there is no such module."""
    try:
        _module(symbol)
    except _NoModule:
        raise
    except BaseException as error:
        return describe(error)
    return None


class _NoModule(LookupError):
    """There is no module of that name."""


def _module(symbol):
    name = symbol.partition(":")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not error.name or not f"{name}.".startswith(f"{error.name}."):
            raise
        owner = sys.modules.get(error.name.rpartition(".")[0])
        if owner is not None:
            raise _NoModule(_not_in(owner, error.name, symbol)) from None
        raise _NoModule(
            f"there is no module `{name}` in {', '.join(each or '.' for each in sys.path)} of "
            f"{sys.executable or 'this Python'}{_beside(name)}") from None


def _not_in(owner, name, symbol):
    """Says that `owner`, a package or a module, has no module of that name."""
    last, where = name.rpartition(".")[2], f"`{owner.__name__}` ({_file_of(owner) or 'no file'})"
    if hasattr(owner, "__path__"):
        has = _modules_of(owner)
        return (f"there is no module `{name}`: the package {where} has no `{last}`"
                f"{_near(last, has)}; its modules: {', '.join(has) or 'none'}")
    said = f"there is no module `{name}`: {where} is a module, and no package"
    if not hasattr(owner, last):
        return said
    path = ".".join([*symbol.partition(":")[0].split(".")[name.count("."):],
                     symbol.partition(":")[2]])
    return f'{said}; `{last}` is in it (did you mean "python:{owner.__name__}:{path}"?)'


def _modules_of(package):
    import pkgutil
    return [each.name for each in pkgutil.iter_modules(getattr(package, "__path__", ()))]


def _module_with(package, name):
    """A module of a package whose text defines a class or function of that name. Nothing is
    imported for it."""
    for each in _modules_of(package):
        spec = importlib.util.find_spec(f"{package.__name__}.{each}")
        try:
            with open(spec.origin, encoding="utf-8") as file:
                starts = [line.partition("(")[0].partition(":")[0].split() for line in file
                          if line.startswith(("class ", "def "))]
        except (AttributeError, OSError, TypeError, ValueError):  # of no text
            continue
        if [name] in [words[1:] for words in starts]:
            return spec.name
    return None


def _instead(module, first, path):
    """Says what a module has that lacks `first`; of a package, which of its modules has it."""
    package = module.__name__
    own = [name for name, value in vars(module).items()
           if callable(value) and _package_of(value) == package.partition(".")[0]]
    modules = _modules_of(module)
    if first in modules:
        rest = path.partition(".")[2] or "function"
        return (f"; `{first}` is a module of this package (did you mean "
                f'"python:{package}.{first}:{rest}"?)')
    if found := _module_with(module, first):
        return f'; its module `{found}` has it (did you mean "python:{found}:{path}"?)'
    named = f"; it is a package, with the modules {', '.join(modules)}" if modules else ""
    return f"{_near(first, own)}; it has {', '.join(own) or 'nothing'}{named}"


def _beside(name):
    """Says how a module of the current folder is named, where Python does not look."""
    package = name.partition(".")[0]
    for path, file in ((f"./{package}.py", f"{package}.py"),
                       (f"./{package}", os.path.join(package, "__init__.py"))):
        if os.path.exists(file):
            return f"; {file} is in the current folder: --lib {path} names it"
    return ""


def _member(symbol):
    """What a symbol names, and its class, which may be None."""
    module_name, _, path = symbol.partition(":")
    module, package = _module(symbol), module_name.partition(".")[0]
    first, _, second = path.partition(".")
    if not hasattr(module, first):
        raise LookupError(f"the module `{module_name}` ({_file_of(module) or 'of no file'}) has no "
                          f"`{first}`{_instead(module, first, path)}")
    member = getattr(module, first)
    if isinstance(member, types.ModuleType):
        file = os.path.basename(_file_of(module) or module_name)
        if member.__name__ == f"{module_name}.{first}" and second:
            raise LookupError(f"`{first}` is a module of the package `{module_name}` (did you mean "
                              f'"python:{module_name}.{first}:{second}"?)')
        raise LookupError(f"`{first}` is a module that `{module_name}` imports; a method is one of "
                          f"a class or function that {file} itself defines")
    is_object = not (isinstance(member, type) or inspect.isroutine(member))
    if is_object and (second or _package_of(member) != package):
        raise LookupError(f"`{first}` is an object of `{type(member).__name__}`, and each place "
                          "makes its own; name a class")
    if _package_of(member) != package:
        raise LookupError(f"`{first}` of `{module_name}` is of `"
                          f"{getattr(member, '__module__', None)}`; a class or function of the "
                          "module itself is called, and none that it imports")
    if not second:
        return member, None
    if not isinstance(member, type):
        raise LookupError(f"`{first}` of `{module_name}` is no class")
    if not hasattr(member, second):
        raise LookupError(f"the class `{first}` of `{module_name}` has no method `{second}`"
                          f"{_near(second, _methods(member))}")
    method = getattr(member, second)
    if callable(method):
        _check_own(member, second, method, package)
    return method, member


def _check_own(owner, name, method, package):
    """Sees to it that a class's method is what that class, or one that it inherits from, defines
    itself. What a class only holds, as `run = staticmethod(os.system)`, is imported by its module,
    which is no word of the user's that plans may call it."""
    holder = next((each for each in owner.__mro__ if name in vars(each)), None)  # None: its type
    is_own = holder is not None and (getattr(method, "__objclass__", None) is holder or
                                     _package_of(method) == _package_of(holder))
    if not is_own:
        raise LookupError(f"`{name}` of the class `{owner.__name__}` is of "
                          f"`{getattr(method, '__module__', None)}`; a class's own methods are "
                          "called, and those that it inherits, but nothing that its module has "
                          f"imported; `def {name}(...)` may call it")
    if name.startswith("__") and name != "__call__" and _package_of(holder) != package:
        raise LookupError(f"`{name}` of the class `{owner.__name__}` is of Python's own protocol; "
                          "name a method that the class defines")


def _methods(owner):
    return [name for name in dir(owner) if callable(getattr(owner, name, None))]


def _near(name, names):
    """Suggests one that is spelt nearly so."""
    import difflib
    near = difflib.get_close_matches(name, names, 1, 0.7)
    return f" (did you mean `{near[0]}`?)" if near else ""


def _package_of(member):
    return str(getattr(member, "__module__", "")).partition(".")[0]


def find(symbol):
    """Returns the function, or the name of a method; whether it takes `out`; the names of what it
    takes, or None where that is anything; the names of arguments that it writes; and whether it is
    given the object, and the dict of what is kept for it, before its arguments."""
    symbol, _, autograd = symbol.partition("@")
    member, owner = _member(symbol)
    if not callable(member):
        raise LookupError(f"`{symbol}` cannot be called")
    if owner is None and isinstance(member, type):
        own = [name for name in vars(member)
               if not name.startswith("_") and callable(getattr(member, name))]
        method = "forward" if hasattr(member, "forward") else (own or ["__call__"])[0]
        raise LookupError(f"`{member.__name__}` is a class; name a method of it, as in "
                          f'"python:{symbol}.{method}"')
    try:
        parameters = inspect.signature(member).parameters
    except (TypeError, ValueError):  # not written in Python
        parameters, names = {}, None
    else:
        takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        names = None if takes_all else tuple(parameters)
    found = member if owner is None else symbol.rpartition(".")[2]
    written = tuple(getattr(member, "__cgraph_writes__", ()))
    for name in written:
        if names is not None and name not in names:
            raise LookupError(f"`{symbol}` says that it writes `{name}`, and takes "
                              f"{', '.join(names) or 'nothing'}")
    if autograd:
        return autograd_call(autograd, found), False, names, written, True
    return found, "out" in parameters, names, written, False


def create(symbols, parameters, gpu):
    """Returns the object of a place; None where its methods are functions. `gpu`: the number of its
    GPU, or None."""
    for symbol in symbols:
        owner = _member(symbol)[1]
        if owner is not None:
            with _on_device(gpu):
                made = _made(owner, parameters)
                if gpu is not None:
                    _move_module(made, gpu)
            return made
    return None


class _NotMade(Exception):
    """Its cause is what the constructor of a class has raised."""


def _made(owner, parameters):
    try:
        return owner(**parameters)
    except BaseException as error:
        maker = "__new__" if owner.__init__ is object.__init__ else "__init__"
        raise _NotMade(f"`{owner.__qualname__}.{maker}` of the module `{owner.__module__}`, given "
                       f"{_given(parameters)}") from error


def _given(parameters):
    """As "width=16, seed=0"; long values are cut."""
    import reprlib
    return ", ".join(f"{name}={reprlib.repr(value)}"
                     for name, value in parameters.items()) or "nothing"


def group(names, taken):
    """["w", "p[0]", "p[1]"] is (("w", 1, False, True), ("p", 2, True, True)): the keywords of
    states, and last whether the function takes them; `taken`: what find() says of that. A name
    with a space is the compiler's own, and no keyword."""
    found = {}
    for name in names:
        root = name.replace(".", "[").partition("[")[0]
        count, _ = found.get(root, (0, False))
        found[root] = (count + 1, root != name)
    return tuple((root, count, several, " " not in root and (taken is None or root in taken))
                 for root, (count, several) in found.items())


def describe(error):
    """What was raised, and where; of a long traceback the last calls are kept."""
    if isinstance(error, _NoModule):
        return str(error)
    if not isinstance(error, _NotMade):
        return _kept(_described(error, ""), error)
    text = _described(error.__cause__, f"{str(error)[:MOST_TEXT // 4]}: ")
    return _kept(text, error.__cause__)


def _kept(text, error):
    """Keeps what was raised for take_raised(), without the variables of its frames: they may hold
    what was made of views, whose memory is the graph's when the call is over."""
    each, seen = error, set()
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        traceback.clear_frames(each.__traceback__)
        each = each.__cause__ or each.__context__
    number = next(_numbers)
    _raised[number] = text, error, threading.current_thread() is threading.main_thread()
    _raised.pop(number - MOST_RAISED, None)
    return text


def take_raised(message):
    """Returns what was raised in this process, of which an error's message ends with the text, and
    whether that was on the main thread; None where it was elsewhere, or longer ago."""
    for number, (text, error, on_main_thread) in sorted(_raised.items(), reverse=True):
        if message.endswith(text):
            _raised.pop(number, None)
            return error, on_main_thread
    return None


def forget_raised(message):
    """Forgets what holds memory that is the graph's again."""
    take_raised(message)


def _described(error, before):
    told = traceback.TracebackException.from_exception(error)
    each = told
    while each is not None:
        each.stack[:] = [frame for frame in each.stack if not _is_of_import(frame.filename)]
        each = each.__cause__ or each.__context__
    only = list(told.format_exception_only())
    if isinstance(error, SyntaxError):  # whose file and line come first
        only = [line for line in only if line.startswith(type(error).__name__)] or only
    said = "".join(only).strip()
    lines = list(told.format())
    is_located = told.stack or isinstance(error, SyntaxError)
    whole = "".join(lines).strip().removesuffix(said).strip() if is_located else ""
    if isinstance(error, ImportError):
        said += f" (Python {sys.version.split()[0]}, {sys.executable or sys.prefix})"
        if "undefined symbol" in said:
            said += ("; another version of that library is loaded already: import the module "
                     "before any engine is made, or let LD_LIBRARY_PATH begin with the folders of "
                     "those that it brings (of PyTorch's, nvidia/*/lib beside it)")
    said = before + said[:MOST_TEXT // 2]
    if isinstance(error, (TypeError, AttributeError)) and "cgraph.View" in said:
        said += ("; the arguments of a method are views: torch.from_dlpack(x) is a tensor of one, "
                 "numpy.asarray(x) an array")
    if isinstance(error, (ValueError, TypeError, BufferError)) and (
            "read-only" in said or "not writable" in said):
        said += ("; arguments are read-only, and states that the method does not declare as "
                 "written: `@cgraph.writes(\"x\")` above the method gives it a copy of `x`, and "
                 "`writes w` behind its declaration lets it write the state `w`")
    if "tensors that require gradient" in said:
        said += ("; with `grad by auto` the arguments of a method are tensors of PyTorch's, and x "
                 "stands where torch.from_dlpack(x) would")
    room = MOST_TEXT - len(said)
    if len(whole) > room:
        whole = "..." + whole[-room:]
    return f"{said}\n{whole}" if whole else said


def _is_of_import(file):
    return file.startswith("<frozen importlib") or \
        file in (importlib.__file__, "cgraph/helper.py", "cgraph/gpus.py", "cgraph/stored.py",
                 "cgraph/autograd.py")
