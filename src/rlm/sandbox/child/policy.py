"""The language layer: what model-written code may say.

RestrictedPython refuses what reaches around its guards, and with it much that everyone writes. This
policy keeps its guards and gives the everyday constructs back: `d[k] += 1`, `self.x += 1`,
annotations, `nonlocal`, `match`, names with one leading underscore, magic methods in classes,
`super()`, `print`.

Names with one leading underscore are renamed before anything else looks at them, so code that
assigns to a guard assigns to a plain variable. Names with two are refused, but for the few that
have a safe meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from RestrictedPython.transformer import (
    INSPECT_ATTRIBUTES,
    IOPERATOR_TO_STR,
    RestrictingNodeTransformer,
    copy_locations,
)


def words(text: str) -> list[str]:
    """A table of names, written as text."""
    return text.split()


PRIVATE = "own_"
"""Stands for the leading underscore of a name: `_helper` is `own_helper` inside."""
MAX_NODES = 50_000
MAX_DEPTH = 90
MAGIC = frozenset(
    f"__{name}__"
    for name in words("""
        init post_init repr str bytes format bool hash call len length_hint contains iter next
        reversed getitem setitem delitem missing enter exit lt le eq ne gt ge
        add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor
        radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand ror rxor
        iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor
        neg pos abs invert int float complex index round trunc floor ceil copy deepcopy
    """)
)
"""Methods that a class may define: Python calls them with values that the code has already."""
_SPECIAL = {
    "__name__": "_name_of_",
    "__qualname__": "_name_of_",
    "__class__": "_type_of_",
    "__doc__": "_doc_of_",
    "__dict__": "_vars_of_",
}
"""Attributes with two underscores that have a safe meaning, and the guard that gives it."""
_ITERATING = frozenset(
    words("list tuple set frozenset sorted enumerate reversed zip map filter max min iter Counter")
)
"""Functions that loop over what they are given, out of the guards' sight."""
FORBIDDEN = INSPECT_ATTRIBUTES | {"mro", "gi_yieldfrom", "cr_suspended", "ag_running"}


def private_name(name: str) -> str:
    """The name that stands for `name` inside."""
    if name.startswith("_") and name != "_" and not name.startswith("__"):
        return PRIVATE + name.lstrip("_")
    if name.startswith("__") and not name.endswith("__"):
        return PRIVATE + PRIVATE + name.lstrip("_")
    return name


def display_name(name: str) -> str:
    """The name as the code's author wrote it."""
    plain = name
    while plain.startswith(PRIVATE):
        plain = plain[len(PRIVATE) :]
    return "_" * ((len(name) - len(plain)) // len(PRIVATE)) + plain


def is_field(name: str) -> bool:
    """Whether a pattern may read an attribute of this name: it does so without a guard."""
    return not (name.startswith("_") or name in FORBIDDEN or name in ("format", "format_map"))


def is_hidden(name: str) -> bool:
    """Whether no code may read or set an attribute of this name."""
    return (name.startswith("_") and name != "_") or name in FORBIDDEN


class TooLarge(Exception):
    """The syntax tree is too large or too deep."""


def measure(tree: ast.AST) -> None:
    """Refuse a tree that would exhaust the passes after this one."""
    level, depth, count = [tree], 0, 0
    while level:
        depth += 1
        count += len(level)
        if count > MAX_NODES:
            raise TooLarge(f"the block has more than {MAX_NODES:,} parts: split it")
        if depth > MAX_DEPTH:
            advice = "use variables for the inner parts"
            raise TooLarge(f"the block is nested more than {MAX_DEPTH} deep: {advice}")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


class Rename(ast.NodeTransformer):
    """Renames names with leading underscores, before the policy reads them."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("name", "asname", "arg", "attr", "id", "rest"):
            value = getattr(node, field, None)
            if isinstance(value, str) and not isinstance(node, ast.alias):
                setattr(node, field, private_name(value))
        if isinstance(node, ast.alias):
            node.asname = private_name(node.asname) if node.asname else None
        elif isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [private_name(name) for name in node.names]
        elif isinstance(node, ast.MatchClass):
            node.kwd_attrs = [private_name(name) for name in node.kwd_attrs]
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == "__name__" and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant("__main__"), node)
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.type is None:  # a bare except would also catch the end of the block's time
            node.type = ast.copy_location(ast.Name("Exception", ast.Load()), node)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None  # names that are not imported are common there
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        _drop_type_parameters(node)
        return self.generic_visit(node)


def _drop_type_parameters(node: Any) -> None:
    """`def f[T](x)`: nothing here needs the T, and older Pythons have no place for it."""
    if "type_params" in node._fields:
        node.type_params = []


class Policy(RestrictingNodeTransformer):
    """RestrictedPython's rules with the everyday constructs given back."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._scopes: list[ast.AST] = []

    # -- names -------------------------------------------------------------------------------------

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        if name is None or (allow_magic_methods and name in MAGIC and self._in_class()):
            return
        if (name.startswith("_") and name != "_") or name.endswith("__roles__"):
            self.error(node, f'the name "{name}" is not available here')

    def _in_class(self) -> bool:
        return bool(self._scopes) and isinstance(self._scopes[-1], ast.ClassDef)

    def _not_available(self, node: Any, attribute: str) -> None:
        self.error(node, f'the attribute "{attribute}" is not available here')

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            self.used_names[node.id] = True
        self.check_name(node, node.id, allow_magic_methods=True)  # `__rmul__ = __mul__` in a class
        return node

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.AST:
        for name in node.names:
            self.check_name(node, name)
        return node

    visit_Nonlocal = visit_Global

    def inject_print_collector(self, node: Any, position: int = 0) -> None:
        """`print` is a plain function here."""

    # -- attributes --------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        special = _SPECIAL.get(node.attr)
        if special and isinstance(node.ctx, ast.Load):
            return self._guard_call(special, [self.visit(node.value)], node)
        if node.attr in MAGIC and isinstance(node.ctx, ast.Load) and _is_super(node.value):
            given = [self.visit(node.value), ast.Constant(node.attr)]
            return self._guard_call("_magic_of_super_", given, node)
        if is_hidden(node.attr):
            self._not_available(node, node.attr)
            return node
        return super().visit_Attribute(node)

    def _guard_call(self, guard: str, args: list[ast.expr], node: Any) -> ast.Call:
        call = ast.Call(func=ast.Name(guard, ast.Load()), args=args, keywords=[])
        copy_locations(call, node)
        return ast.fix_missing_locations(call)

    def visit_Compare(self, node: ast.Compare) -> Any:
        node = self.node_contents_visit(node)
        if len(node.ops) > 1 or not isinstance(node.ops[0], ast.In | ast.NotIn):
            return node
        found = self._guard_call("_is_in_", [node.left, *node.comparators], node)
        is_not = isinstance(node.ops[0], ast.NotIn)
        return ast.copy_location(ast.UnaryOp(ast.Not(), found), node) if is_not else found

    def _read_marks(self, node: ast.expr) -> ast.expr:
        """A string that is looked into, with the passages on the host that it stands for."""
        is_plain = isinstance(node, ast.Constant | ast.Starred)
        return node if is_plain else self._guard_call("_read_marks_", [node], node)

    # -- assignments -------------------------------------------------------------------------------

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Name):
            return super().visit_AugAssign(node)
        before: list[ast.stmt] = []

        def once(part: ast.expr) -> ast.expr:
            """A subexpression that is used twice and evaluated once."""
            if isinstance(part, ast.Constant):
                return part
            name = self.gen_tmp_name()
            before.append(ast.Assign(targets=[ast.Name(name, ast.Store())], value=self.visit(part)))
            return ast.Name(name, ast.Load())

        target = node.target
        owner = once(target.value)
        key: ast.expr
        if isinstance(target, ast.Attribute):
            if is_hidden(target.attr):
                self._not_available(node, target.attr)
            key = ast.Constant(target.attr)
            read, write = "_getattr_", "_set_attribute_"
        else:
            key = self._index(target.slice, once)
            read, write = "_getitem_", "_set_item_"
        sign = ast.Constant(IOPERATOR_TO_STR[type(node.op)])
        old = self._guard_call(read, [owner, key], node)
        value = ast.Call(
            ast.Name("_inplacevar_", ast.Load()), [sign, old, self.visit(node.value)], []
        )
        after = ast.Expr(self._guard_call(write, [owner, key, value], node))
        made = [*before, after]
        for statement in made:
            copy_locations(statement, node)
            ast.fix_missing_locations(statement)
        return made

    def _index(self, index: ast.expr, once: Callable[[ast.expr], ast.expr]) -> ast.expr:
        if not isinstance(index, ast.Slice):
            return once(index)
        bounds = (index.lower, index.upper, index.step)
        parts = [once(part) if part else ast.Constant(None) for part in bounds]
        return ast.Call(ast.Name("_slice_", ast.Load()), parts, [])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        # Dataclasses read the annotations.
        if self._in_class() and isinstance(node.target, ast.Name):
            self.check_name(node, node.target.id)
            if not is_field(node.target.id):
                self.error(node, f'the name "{node.target.id}" is not available for a field')
            node.annotation = ast.copy_location(ast.Constant(None), node)
            node.value = self.visit(node.value) if node.value else None
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        plain = ast.Assign(targets=[node.target], value=node.value)
        return self.visit(ast.copy_location(plain, node))

    # -- functions and classes ---------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.check_name(node, node.name, allow_magic_methods=True)
        self.check_function_argument_names(node)
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        self._scopes.append(node)
        kept, node.decorator_list = node.decorator_list, []
        node = self.node_contents_visit(node)
        node.decorator_list = kept
        self._scopes.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._scopes.append(node)
        try:
            return super().visit_Lambda(node)
        finally:
            self._scopes.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        _drop_type_parameters(node)
        self.check_name(node, node.name)
        if any(word.arg is None or word.arg == "metaclass" for word in node.keywords):
            self.error(node, "a metaclass is not available here")
        node.bases = [self.visit(base) for base in node.bases]
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        self._scopes.append(node)
        body: list[ast.stmt] = []
        for statement in node.body:
            made = self.visit(statement)
            body += made if isinstance(made, list) else [made] if made is not None else []
        self._scopes.pop()
        born = ast.keyword("metaclass", ast.Name("__metaclass__", ast.Load()))
        fresh = ast.ClassDef(
            name=node.name,
            bases=node.bases,
            keywords=[born],
            body=body or [ast.Pass()],
            decorator_list=node.decorator_list,
        )
        _drop_type_parameters(fresh)
        copy_locations(fresh, node)
        return ast.fix_missing_locations(fresh)

    def visit_Call(self, node: ast.Call) -> Any:
        if _is_super(node):
            return self._super(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval"):
            self.error(node, f"{node.func.id}() is not available here: write the code itself")
            return node
        iterates = getattr(node.func, "id", getattr(node.func, "attr", "")) in _ITERATING
        made: Any = super().visit_Call(node)
        if iterates:
            made.args = [self._read_marks(part) for part in made.args]
        return made

    def _super(self, node: ast.Call) -> Any:
        if node.args:
            return self._guard_call("_super_", [self.visit(part) for part in node.args], node)
        around = [scope for scope in self._scopes if isinstance(scope, ast.FunctionDef)]
        names = [*around[-1].args.posonlyargs, *around[-1].args.args] if around else []
        if not names:
            self.error(node, "super() needs a method with self around it")
            return node
        own, instance = ast.Name("__class__", ast.Load()), ast.Name(names[0].arg, ast.Load())
        return self._guard_call("_super_", [own, instance], node)

    def visit_TypeAlias(self, node: Any) -> Any:
        return ast.copy_location(ast.Pass(), node)

    # -- match -------------------------------------------------------------------------------------

    def visit_Match(self, node: Any) -> Any:
        return self.node_contents_visit(node)

    visit_match_case = visit_MatchSingleton = visit_MatchSequence = visit_MatchOr = visit_Match

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        self._pattern_value(node.value)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        self.check_name(node, node.rest)
        for key in node.keys:
            self._pattern_value(key)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        if not isinstance(node.cls, ast.Name):
            self.error(node, "a class in a pattern must be a plain name: bind it to one first")
        self.check_name(node, getattr(node.cls, "id", None))
        for name in node.kwd_attrs:
            if not is_field(name):
                self._not_available(node, name)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        self.check_name(node, node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def _pattern_value(self, value: ast.expr) -> None:
        """A literal, or a constant like `Colour.RED`: patterns read attributes without a guard."""
        if isinstance(value, ast.Attribute):
            constant = value.attr.isupper() and not value.attr.startswith("_")
            if not (constant and isinstance(value.value, ast.Name)):
                only = "a pattern may name a constant like Colour.RED, or a literal"
                self.error(value, f"{only}; use `if` for more")
            self.check_name(value, getattr(value.value, "id", None))
            return
        literal = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
        if not all(isinstance(part, literal) for part in ast.walk(value)):
            self.error(value, "a pattern may hold literals only; use `if` for more")


def _is_super(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == "super"
