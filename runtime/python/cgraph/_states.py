"""States of an engine's actors, as mappings: engine.state["stage[0]"]["w"]."""
import os
from collections.abc import Mapping, MutableMapping

from cgraph import _runtime
from cgraph.errors import Error, InputError, absent_file

_OF_PYTHON = ("{} keeps is in an object of the class `{}`, which its own code fills: let "
              "`__init__` or a method read a file, of which the actor knows the path (PyTorch: "
              "self.load_state_dict(torch.load(path))), or let Engine.load_state() give "
              "load_state_dict() what Engine.save_state() has saved")
_OF_LIBRARY = ("{} keeps is in an object of {}, which its own code fills; Engine.save_state() and "
               "Engine.load_state() keep it where the library can save objects")


class States(Mapping):
    """The states of an engine's places: states["stage[0]"]["w"] is a copy of one, as an Array; what
    is assigned to it counts from the next execution on. Neither is possible while executions are
    in flight."""

    def __init__(self, engine):
        self._engine = engine
        self._all = _runtime.places(engine)
        self._places = {place: names for place, (names, _) in self._all.items() if names}

    def __getitem__(self, place):
        if place in self._places:
            beside = self._beside(place, "what else it")
            return PlaceStates(self._engine, place, self._places[place], beside)
        if place not in self._all:
            raise KeyError(f"there is no place `{place}`{_near(place, self._all)}; the places: "
                           f"{', '.join(self._all) or 'none'}")
        beside = self._beside(place)
        raise KeyError(f"the place `{place}` has no states of the program"
                       f"{beside and ': ' + beside}; those that have: {', '.join(self) or 'none'}")

    def __setitem__(self, place, _):
        states = self[place]
        name = next(iter(states))
        raise TypeError(f"the states of `{place}` are set one by one, "
                        f"engine.state[{place!r}][{name!r}] = value, or by update(...)")

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)

    def __repr__(self):
        return f"<states of {', '.join(self) or 'no place'}>"

    def about(self, name):
        """What to say where a place is asked for as if it were a graph; None: it is no place."""
        if name not in self._all:
            return None
        if name in self._places:
            return f'its states are in engine.state["{name}"]'
        return self._beside(name) or "it has no states"

    def _beside(self, place, what="what it"):
        """Says where a place keeps what is no state; nothing where it has no object."""
        maker = self._all[place][1]
        if maker.startswith("python:"):
            return _OF_PYTHON.format(what, maker.removeprefix("python:"))
        return maker and _OF_LIBRARY.format(what, maker)


def of_objects(engine):
    """What Engine.objects() returns."""
    return {place: _object(data) for place, data in _runtime.object_bytes(engine).items()}


def read_objects(path):
    """What a file of Engine.save_state() or `cgrun --save-state` has of the places' objects, as
    Engine.objects() returns it. No code of theirs runs."""
    import json
    with absent_file(path), _opened(path) as file:
        try:
            size = int.from_bytes(file.read(8), "little")
            tensors = json.loads(file.read(min(size, os.fstat(file.fileno()).st_size)))
            objects = {name.removesuffix(_runtime.OBJECT): entry["data_offsets"]
                       for name, entry in tensors.items() if name.endswith(_runtime.OBJECT)}
            found = {}
            for place, (begin, end) in objects.items():
                file.seek(8 + size + begin)
                found[place] = _object(file.read(end - begin))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{os.fsdecode(path)} is no file of states") from error
    return found


def read_metadata(path):
    """What a file of Engine.save_state() or `cgrun --save-state` says beside its states, names and
    texts: the `metadata` that it was given, of cgrun where a run was in its data."""
    with absent_file(path):
        return _runtime.read_metadata(os.fsdecode(path))


def _opened(path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise Error(f"cannot read {os.fsdecode(path)}: {error.strerror}") from error


def _object(data):
    from cgraph import _stored
    try:
        parts = _stored._read(data)
    except (ValueError, KeyError, TypeError):  # of a library in native code, which knows what it is
        return data
    return {name or "self": state for name, state in parts.items()}


class PlaceStates(MutableMapping):
    """The states of one place, by their names."""

    def __init__(self, engine, place, names, beside):
        self._engine, self._place, self._names, self._beside = engine, place, names, beside

    def __getitem__(self, name):
        self._check(name)
        return _runtime.read_state(self._engine, f"{self._place}.{name}")

    def __setitem__(self, name, value):
        self._check(name)
        _runtime.write_state(self._engine, self._place, name, value)

    def __delitem__(self, name):
        raise TypeError(f"`{self._place}.{name}` is a state of the plan: it can be set alone")

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return f"<states of {self._place}: {', '.join(self)}>"

    def _check(self, name):
        if name not in self._names:
            raise KeyError(f"`{self._place}` has no state `{name}`{_near(name, self._names)}; its "
                           f"states: {', '.join(self._names)}"
                           f"{self._beside and '; ' + self._beside}")


def _near(name, names):
    """Suggests one that is spelt nearly so, or a part or element of what has that name."""
    import difflib
    within = [each for each in names if each.startswith((f"{name}[", f"{name}."))]
    near = within or difflib.get_close_matches(str(name), names, 1, 0.7)
    return f" (did you mean `{near[0]}`?)" if near else ""
