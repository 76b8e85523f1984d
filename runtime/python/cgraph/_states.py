"""States of an engine's actors, as mappings: engine.state["stage[0]"]["w"]."""
from collections.abc import Mapping, MutableMapping

from cgraph import _runtime


class States(Mapping):
    """The states of an engine's places: states["stage[0]"]["w"] is a copy of one, as an Array; what
    is assigned to it counts from the next execution on. Neither is possible while executions are
    in flight."""

    def __init__(self, engine):
        self._engine = engine
        self._places = {}
        for whole in _runtime.state_names(engine):
            place, _, name = whole.partition(".")  # the state may be a part, "pair.x"
            self._places.setdefault(place, []).append(name)

    def __getitem__(self, place):
        if place not in self._places:
            raise KeyError(f"no place `{place}` has states; those that have: "
                           f"{', '.join(self) or 'none'}")
        return PlaceStates(self._engine, place, self._places[place])

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)

    def __repr__(self):
        return f"<states of {', '.join(self) or 'no place'}>"


class PlaceStates(MutableMapping):
    """The states of one place, by their names."""

    def __init__(self, engine, place, names):
        self._engine, self._place, self._names = engine, place, names

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
            raise KeyError(f"`{self._place}` has no state `{name}`; its states: "
                           f"{', '.join(self._names)}")
