"""The telling part of a block of code: the calls that it makes, not its imports and helper
functions."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Collection, Iterator, Sequence

PARSED_CHARS = 50_000
_BUILTIN = frozenset(dir(builtins))
_PREPARING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def telling_part(code: str, most: int) -> str:
    """About `most` characters that say what a block does; never raises.

    >>> telling_part("import re\\ndef f(x):\\n    return x\\nprint(search_entity('Activity'))", 80)
    "search_entity('Activity')"
    """
    try:
        body = _parsed(code)
        return _chosen(body, most) or _first_line(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _first_line(code)


def _parsed(code: str) -> list[ast.stmt]:
    if len(code) > PARSED_CHARS:
        raise ValueError("too long to be parsed for one line")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python does not know
        return ast.parse(code).body


def _chosen(body: Sequence[ast.stmt], most: int) -> str:
    defined = {
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    doing = [node for node in body if not isinstance(node, _PREPARING) and not _is_text(node)]
    tools = [call for node in doing for call in _calls(node, defined | _BUILTIN)]
    if tools:
        return _joined([ast.unparse(call) for call in tools], most)
    own = [node for node in doing if _name(getattr(node, "value", None)) in defined]
    return _joined([ast.unparse(node) for node in own or doing], most)


def _calls(node: ast.AST, passed: Collection[str] = _BUILTIN) -> Iterator[ast.Call]:
    """The calls by name in a statement, in order. Those in `passed` are looked into, any other is
    taken whole."""
    if isinstance(node, ast.Call) and _name(node) not in {"", *passed}:
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, passed)


def _name(node: ast.AST | None) -> str:
    """What a call calls by name; '' for anything else."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _joined(parts: Sequence[str], most: int) -> str:
    """The parts on one line. Where they are too many the last ones stay: they are what a block
    comes to."""
    parts = [" ".join(part.split()) for part in dict.fromkeys(parts)]
    while len(parts) > 1 and len("; ".join(parts)) > most:
        parts = parts[1:]
    return "; ".join(parts)


def _first_line(code: str) -> str:
    """The first line that does something, for code that cannot be parsed."""
    lines = [line.strip() for line in code[:PARSED_CHARS].splitlines()]
    doing = [
        line
        for line in lines
        if line and not line.startswith(("#", "import ", "from ", "def ", "class ", "@"))
    ]
    return next(iter(doing or [line for line in lines if line]), "")
