"""Small changes to a Python source, one at a time: operators, comparisons, conditions, numbers, min and max."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "argmin": "argmax",
    "argmax": "argmin",
}
Path = tuple[tuple[str, int | None], ...]
"""Names of fields and positions in lists, from the root of the tree to a node."""
_TEXT = ("__repr__", "__str__", "_repr_html_", "_repr_markdown_")


class Mutant(NamedTuple):
    """A changed source."""

    line: int
    what: str
    """The change, as `a + b → a - b`."""
    source: str


def places(source: str) -> list[int]:
    """Line of each mutant of a source: the numbers that `mutant` takes are the positions in this list."""
    return [line for _, _, line in _sites(ast.parse(source))]


def mutant(source: str, number: int) -> Mutant:
    """One mutant of a source. Comments and layout are lost."""
    tree = ast.parse(source)
    path, k, line = _sites(tree)[number]
    target = _at(tree, path)
    before = ast.unparse(target)
    new = list(_changes(target))[k]()
    if new is not target:
        _put(tree, path, new)
    return Mutant(line, f"{_short(before)} → {_short(ast.unparse(new))}", ast.unparse(tree) + "\n")


def _sites(tree: ast.AST) -> list[tuple[Path, int, int]]:
    """How to reach each place, which of its changes, and its line."""
    return [
        (path, k, getattr(node, "lineno", 0))
        for path, node in _places(tree)
        for k in range(len(list(_changes(node))))
    ]


def _places(node: ast.AST, path: Path = ()) -> Iterator[tuple[Path, ast.AST]]:
    """Nodes that may be changed, with how to reach them; what only makes text, types or messages is left out."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.FunctionDef) and node.name in _TEXT:
        return
    if path:
        yield path, node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "slice_type", "msg"):
            continue
        for k, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _is_docstring(child):
                yield from _places(child, (*path, (name, k)))


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST) -> Iterator[Callable[[], ast.AST]]:
    """Functions that change the node in place, or give the node to put in its place."""
    if (
        isinstance(node, ast.BinOp)
        and type(node.op) in _BINARY
        and not isinstance(node.left, ast.Constant | ast.JoinedStr)
    ):
        yield lambda: _set(node, "op", _BINARY[type(node.op)]())
    if isinstance(node, ast.AugAssign) and type(node.op) in _BINARY:
        yield lambda: _set(node, "op", _BINARY[type(node.op)]())
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            for other in _COMPARE.get(type(op), ()):
                yield lambda k=k, other=other: _set(
                    node, "ops", [*node.ops[:k], other(), *node.ops[k + 1 :]]
                )  # type: ignore[misc]
    if isinstance(node, ast.BoolOp):
        yield lambda: _set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield lambda: node.operand
    if isinstance(node, ast.Constant):
        yield from _numbers(node)
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Name) and called.id in _NAMES:
            yield lambda: _set_inner(node, called, "id")
        if isinstance(called, ast.Attribute) and called.attr in _NAMES:
            yield lambda: _set_inner(node, called, "attr")


def _numbers(node: ast.Constant) -> Iterator[Callable[[], ast.AST]]:
    if isinstance(node.value, bool):
        yield lambda: _set(node, "value", not node.value)
    elif isinstance(node.value, int):
        yield lambda: _set(node, "value", node.value + 1)
    elif isinstance(node.value, float):
        yield lambda: _set(node, "value", node.value * 1.5 + (node.value == 0))


def _set(node: ast.AST, name: str, value: object) -> ast.AST:
    setattr(node, name, value)
    return node


def _set_inner(node: ast.AST, called: ast.AST, name: str) -> ast.AST:
    setattr(called, name, _NAMES[getattr(called, name)])
    return node


def _at(tree: ast.AST, path: Path) -> ast.AST:
    for name, k in path:
        tree = getattr(tree, name) if k is None else getattr(tree, name)[k]
    return tree


def _put(tree: ast.AST, path: Path, new: ast.AST) -> None:
    (name, k), parent = path[-1], _at(tree, path[:-1])
    if k is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[k] = new


def _short(text: str) -> str:
    return text.replace("\n", " ")[:60]
