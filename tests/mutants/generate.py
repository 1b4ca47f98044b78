"""Generate the mutants of a Python module: its syntax tree with one small change each."""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mutants.sql import is_sql, sql_mutations

COMPARISONS = {
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
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"} | {
    "minimum": "maximum",
    "maximum": "minimum",
}
WITHOUT_RESULT = {"report_progress", "trim_memory"}
"""Calls that are not removed: they change no result."""

CHECKED_ONLY = {"strict"}
"""Keywords that are not removed: `zip(strict=True)` only refuses what cannot occur."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed node of a module."""

    line: int
    change: str
    apply: Callable[[], ast.Module]
    """Return the changed syntax tree."""


def mutants_of(source: str) -> list[Mutant]:
    """All mutants of a module, in the order of their lines."""
    tree = ast.parse(source)
    nodes = list(_mutable_nodes(tree))
    found = [
        Mutant(_line(node, new), difference(_text(node), _text(new)), _applied(tree, path, new))
        for path, node in nodes
        for new in _changes(node)
    ]
    return sorted(found, key=lambda mutant: mutant.line)


def difference(old: str, new: str, context: int = 24) -> str:
    """Two texts as `old -> new`; of long texts, only what differs and the text around it.

    >>> difference("a < b", "a <= b")
    'a < b -> a <= b'
    """
    if max(len(old), len(new)) > 4 * context:
        start, end = _common_length(old, new), 0
        end = min(_common_length(old[::-1], new[::-1]), min(len(old), len(new)) - start)
        first = max(start - context, 0)
        old, new = (text[first : len(text) - max(end - context, 0)] for text in (old, new))
    return f"{old} -> {new}"


def _common_length(a: str, b: str) -> int:
    equal = (x == y for x, y in zip(a, b, strict=False))
    return next((n for n, same in enumerate(equal) if not same), min(len(a), len(b)))


def _line(node: ast.AST, new: ast.AST) -> int:
    """The line of a change; inside a text of several lines, that of the first difference."""
    old = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and isinstance(old, str) and isinstance(new, ast.Constant):
        return node.lineno + old[: _common_length(old, str(new.value))].count("\n")
    if isinstance(node, ast.arguments | ast.comprehension):
        return next(child.lineno for child in ast.walk(node) if hasattr(child, "lineno"))
    return int(getattr(node, "lineno", 1))


Path = tuple[tuple[str, int | None], ...]
"""Field names and list positions that lead from the module to a node."""


def _applied(tree: ast.Module, path: Path, new: ast.AST) -> Callable[[], ast.Module]:
    def apply() -> ast.Module:
        changed = copy.deepcopy(tree)
        node: object = changed
        for field, index in path[:-1]:
            node = getattr(node, field) if index is None else getattr(node, field)[index]
        field, index = path[-1]
        if index is None:
            setattr(node, field, new)
        else:
            getattr(node, field)[index] = new
        return ast.fix_missing_locations(changed)

    return apply


def _mutable_nodes(tree: ast.Module) -> Iterator[tuple[Path, ast.AST]]:
    """Nodes outside docstrings, annotations, decorators, imports and messages of errors."""
    stack: list[tuple[Path, ast.AST]] = [((), tree)]
    while stack:
        path, node = stack.pop()
        if path:
            yield path, node
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise):
            continue
        if isinstance(node, ast.keyword) and node.arg in CHECKED_ONLY:
            continue
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "decorator_list", "bases", "ctx", "type_params"}:
                continue
            children = value if isinstance(value, list) else [value]
            for index, child in enumerate(children):
                if isinstance(child, ast.AST) and not _is_docstring(child):
                    position = index if isinstance(value, list) else None
                    stack.append(((*path, (field, position)), child))


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _text(node: ast.AST) -> str:
    """The code of a node on one line; of a compound statement, only its head."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}:"
    return " ".join(ast.unparse(node).split())


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """The mutations of one node, without those of its children."""
    for change in _CHANGES:
        yield from change(node)


def _comparisons(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for position, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                operators = [*node.ops[:position], other(), *node.ops[position + 1 :]]
                yield _located(ast.Compare(node.left, operators, node.comparators), node)


def _operators(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _located(ast.BoolOp(other, node.values), node)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield _located(ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right), node)
    if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        yield _located(ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value), node)
    if isinstance(node, ast.UnaryOp):
        yield node.operand


def _constants(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield _located(ast.Constant(not value), node)
    elif isinstance(value, int):
        yield _located(ast.Constant(value + 1), node)
        if value > 0:
            yield _located(ast.Constant(value - 1), node)
    elif isinstance(value, float):
        yield _located(ast.Constant(value * 2), node)
    elif isinstance(value, str) and is_sql(value):
        for changed in sql_mutations(value):
            yield _located(ast.Constant(changed), node)


def _defaults(node: ast.AST) -> Iterator[ast.AST]:
    """Defaults of parameters that are texts or None; numbers are constants already."""
    if not isinstance(node, ast.arguments):
        return
    for field in ("defaults", "kw_defaults"):
        for position, default in enumerate(getattr(node, field)):
            if isinstance(default, ast.Constant) and isinstance(default.value, str):
                changed = copy.deepcopy(node)
                getattr(changed, field)[position] = ast.Constant("mutant")
                yield _located(changed, default)


def _branches(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If | ast.IfExp):
        constants = [False]
        if isinstance(node, ast.IfExp) or not isinstance(node.body[0], ast.Raise):
            constants.append(True)
        for value in constants:
            changed = copy.copy(node)
            changed.test = _located(ast.Constant(value), node)
            yield changed
    if isinstance(node, ast.comprehension):
        for position in range(len(node.ifs)):
            changed = copy.copy(node)
            changed.ifs = [*node.ifs[:position], *node.ifs[position + 1 :]]
            yield changed


def _removals(node: ast.AST) -> Iterator[ast.AST]:
    """Statements that are removed: errors, calls without a result, stores, jumps."""
    removable = isinstance(node, ast.Raise | ast.AugAssign | ast.Continue | ast.Delete)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        removable = _name(node.value.func) not in WITHOUT_RESULT
    if isinstance(node, ast.Assign):
        removable = not isinstance(node.targets[0], ast.Name | ast.Tuple)
    if removable:
        yield _located(ast.Pass(), node)


def _calls(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Call):
        return
    if len(node.args) > 1 and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
        swapped = copy.copy(node)
        swapped.args = [node.args[1], node.args[0], *node.args[2:]]
        if _name(node.func) not in {"max", "min", "minimum", "maximum", "isinstance"}:
            yield swapped
    for position, keyword in enumerate(node.keywords):
        if keyword.arg is not None and keyword.arg not in CHECKED_ONLY:
            shorter = copy.copy(node)
            shorter.keywords = [*node.keywords[:position], *node.keywords[position + 1 :]]
            yield shorter
    other = FUNCTIONS.get(_name(node.func))
    if other is not None:
        renamed = copy.copy(node)
        renamed.func = copy.copy(node.func)
        if isinstance(renamed.func, ast.Attribute):
            renamed.func.attr = other
        else:
            renamed.func.id = other
        yield renamed


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _located(new: ast.AST, old: ast.AST) -> ast.AST:
    return ast.copy_location(new, old)


_CHANGES = (_comparisons, _operators, _constants, _defaults, _branches, _removals, _calls)
