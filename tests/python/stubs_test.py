"""The stubs say what the package has: its names, the members of its classes, their arguments.

  stubs_test.py --package build/release/python
"""
import ast
import inspect
import os
import unittest

import support

import cgraph
from cgraph import _runtime


def declared():
    path = os.path.join(support.OPTIONS.package, "cgraph", "__init__.pyi")
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read()).body


def members(stub):
    """name -> the names of the arguments of a function, or None; the last of overloads."""
    found = {}
    for node in stub.body:
        if isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
        elif isinstance(node, ast.FunctionDef):
            is_property = any(getattr(d, "id", "") == "property" for d in node.decorator_list)
            found[node.name] = None if is_property else arguments(node)
    return found


def arguments(function):
    of = function.args
    return [a.arg for a in of.posonlyargs + of.args + of.kwonlyargs if a.arg != "self"]


def real_arguments(function):
    return [name for name, each in inspect.signature(function).parameters.items()
            if name != "self" and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


class Stubs(unittest.TestCase):
    def test_names(self):
        names = set()
        for node in declared():
            if isinstance(node, ast.ImportFrom) and node.module == "cgraph.errors":
                names |= {alias.asname for alias in node.names}
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                names.add(node.name)
        self.assertEqual(sorted(names), sorted(cgraph.__all__))
        self.assertEqual(sorted(cgraph.__all__), cgraph.__all__)
        for name in names:
            self.assertTrue(getattr(cgraph, name).__doc__, f"{name} has no docstring")

    def test_functions(self):
        functions = [node for node in declared() if isinstance(node, ast.FunctionDef)]
        self.assertGreater(len(functions), 2)
        for node in functions:
            self.assertEqual(arguments(node), real_arguments(getattr(cgraph, node.name)))

    def test_members(self):
        compared = 0
        for node in declared():
            if not isinstance(node, ast.ClassDef):
                continue
            real = getattr(cgraph, node.name)
            stub = members(node)
            public = {name for name in dir(real) if not name.startswith("_")}
            of_instances = {"Engine": {"plan", "graphs", "absent_states"},
                            "Plan": {"folder", "diagnostics"}}
            public |= of_instances.get(node.name, set())
            self.assertEqual({name for name in stub if not name.startswith("_")}, public, node.name)
            for name, names in stub.items():
                if names is None or real.__module__ == _runtime.__name__ or name == "__exit__":
                    continue
                self.assertEqual(names, real_arguments(getattr(real, name)), f"{node.name}.{name}")
                compared += 1
        self.assertGreater(compared, 8)


if __name__ == "__main__":
    support.main()
