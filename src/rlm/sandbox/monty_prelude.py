"""What the monty engine runs before any block: tools as functions, and ways to describe and tell a variable."""

from __future__ import annotations

PRELUDE = """
ToolError = RuntimeError
_rlm_locals = locals
def _rlm_make(type, len, str, repr, list, dict, tuple, set, frozenset, bytes, int, float, bool):
    plain_kinds = (str, int, float, bool, type(None))
    views = ("dict_keys", "dict_values", "dict_items", "range", "deque", "list_iterator", "tuple_iterator")
    def plain(value, depth=0):
        kind = type(value)
        if kind in plain_kinds:
            return value
        if depth > 50:
            raise ValueError("a value for a tool is nested too deep")
        if kind is dict or kind.__name__ in ("Counter", "defaultdict", "OrderedDict"):
            return {str(key): plain(part, depth + 1) for key, part in value.items()}
        if kind in (list, tuple, set, frozenset) or kind.__name__ in views:
            return [plain(part, depth + 1) for part in value]
        if kind is bytes:
            return value.decode("utf-8", "replace")
        raise TypeError(f"a {kind.__name__} cannot be given to a tool: use text, numbers, lists or dictionaries")
    def short(value):
        kind = type(value)
        if value is None or kind in (bool, float):
            return repr(value)
        if kind is int:
            return repr(value) if -(1 << 200) < value < 1 << 200 else "int of more than 200 bits"
        if kind is str:
            return repr(value) if len(value) <= 120 else f"str of {len(value)} characters"
        if kind is dict and len(value) == 1 and type(value.get("$ref")) is dict:
            ref = value["$ref"]
            if type(ref.get("key")) is str and type(ref.get("sz")) is int:
                return f"Ref({ref['key'][:80]!r}, {str(ref.get('dtype'))[:40]}, {ref['sz']} chars)"
        if kind in (list, tuple, set, frozenset, dict, bytes):
            return f"{kind.__name__} of {len(value)}"
        return kind.__name__
    def mine(space, given):
        return {
            name: value
            for name, value in space.items()
            if not name.startswith("_") and not (name in given and given[name] is value)
        }
    def described(space, given):
        return {name: short(value) for name, value in list(mine(space, given).items())[:200]}
    def told(space, given, name):
        values = mine(space, given)
        if name not in values:
            return None
        try:
            return [plain(values[name])]
        except (TypeError, ValueError, RecursionError):
            return [short(values[name])]
    return plain, described, told
_rlm_plain, _rlm_described, _rlm_told = _rlm_make(
    type, len, str, repr, list, dict, tuple, set, frozenset, bytes, int, float, bool
)
def SHOW_VARS(space=None):
    found = _rlm_call("SHOW_VARS", [], {})
    if space is not None:
        found.update(_rlm_described(space, _rlm_given))
    return found
"""
TOOL = """
def {name}(*args, **words):
    return _rlm_call({name!r}, [_rlm_plain(a) for a in args], {{w: _rlm_plain(words[w]) for w in words}})
"""
