"""Ways past the language layer that a second pair of eyes found, each of which worked once.

They stay here so that none comes back. Same rules as `corpus_escape.py`.
"""

from __future__ import annotations

from corpus_escape import CLASSES, INTROSPECTION, Attempt

SUBCLASSES = "().__class__.__base__.__subclasses__()"
_FIELD = """
from dataclasses import dataclass, field
F = type(field())
class Evil(F):
    @property
    def name(self):
        return "real,print('ESCAPED:', __import__('os'))"
    @name.setter
    def name(self, value):
        pass
m = field().default_factory
@dataclass(init=False, repr=False, eq=True)
class D:
    x: int = Evil(m, m, True, True, None, True, None, False)
D.real = 1
D() == D()
"""

REVIEWED: tuple[Attempt, ...] = (
    Attempt("augmented documentation", INTROSPECTION, f"""
def f(): "x"
f.__doc__ += str(len({SUBCLASSES}))
print("ESCAPED:", f.__doc__)
"""),
    Attempt("augmented name of a class", INTROSPECTION, f"""
class A: pass
A.__name__ += str({SUBCLASSES}[0])
print("ESCAPED:", A)
"""),
    Attempt("class made by the class of classes", CLASSES, """
T = type(int)
X = T("X", (), {"__getattr__": lambda s, n: n})
print("ESCAPED:", X().foo)
"""),
    Attempt("class of classes by its attribute", CLASSES, """
T = int.__class__
X = T("X", (), {"__getattr__": lambda s, n: n})
print("ESCAPED:", X().foo)
"""),
    Attempt("metaclass that lies about instances", CLASSES, """
T = type(int)
M = T("M", (T,), {"__instancecheck__": lambda c, o: True})
C = M("C", (), {"__match_args__": ("gi_frame",)})
def g(): yield 1
x = g()
match x:
    case C(f): print("ESCAPED:", f)
"""),
    Attempt("named tuple of a frame, registered by the metaclass", CLASSES, """
from typing import NamedTuple
from abc import ABC
NT = NamedTuple("NT", [("gi_frame", int)])
class C(NT, ABC): pass
def g(): yield 1
x = g()
type(ABC).register(C, type(x))
match x:
    case C(f): print("ESCAPED:", f)
"""),
    Attempt("registered by a protocol's metaclass", CLASSES, """
from typing import Protocol
class P(Protocol): pass
def g(): yield 1
P.register(type(g()))
print("ESCAPED:registered")
"""),
    Attempt("memo of a deep copy of a tool", INTROSPECTION, """
from copy import deepcopy
memo = {}
deepcopy(echo, memo)
for kept in memo.values():
    if type(kept) is list:
        for part in kept:
            if type(part) is dict and "_getattr_" in part:
                print("ESCAPED:space")
"""),
    Attempt("memo of a deep copy by a hook", INTROSPECTION, """
from copy import deepcopy
seen = []
class Hook:
    def __deepcopy__(self, memo):
        seen.append(memo)
        return self
deepcopy([echo, SHOW_VARS, doc, Hook()])
for memo in seen:
    for kept in list(memo.values()):
        for part in kept if type(kept) is list else [kept]:
            if type(part) is dict and part is not memo:
                print("ESCAPED:", list(part)[:5])
"""),
    Attempt("enumeration with methods of its own", CLASSES, """
from enum import Enum
from copy import copy
state = (None, {"_name": "text.read"})
E = Enum("E", {"__reduce_ex__": lambda s, p: (lambda: echo, (), state), "__copy__": None, "A": 1})
copy(E.A)
if "text.read" in repr(echo):
    print("ESCAPED:", echo)
"""),
    Attempt("guard rewritten by an enumeration", CLASSES, """
from enum import Enum
from copy import copy
state = (None, {"__kwdefaults__": None, "__defaults__": (1, 2, 3)})
E = Enum("E", {"__reduce_ex__": lambda s, p: (lambda: getattr, (), state), "__copy__": None, "A": 1})
copy(E.A)
print("ESCAPED:", getattr())
"""),
    Attempt("enumeration called by a subclass", CLASSES, """
from enum import Enum
class B(Enum): pass
E = B("E", [("__reduce_ex__", 1), ("A", 2)])
print("ESCAPED:", E)
"""),
    Attempt("field with code for a name", CLASSES, _FIELD),
    Attempt("field inherited from", CLASSES, """
from dataclasses import field
class F(type(field())): pass
print("ESCAPED:", F)
"""),
    Attempt("tool of one's own", INTROSPECTION, """
class W:
    def call(self, name, args, words): return name
print("ESCAPED:", type(echo)(W(), "text.read", "")())
"""),
    Attempt("handle of one's own", INTROSPECTION, """
print("ESCAPED:", type(doc)(lambda *a: "q", "other", 0, 30000))
"""),
    Attempt("number that becomes a handle", INTROSPECTION, """
class I(int):
    def __add__(self, other): return {"$ref": {"key": "other", "start": 0, "stop": 9}}
if "other" in str(echo(I(1))):
    print("ESCAPED:forged")
"""),
    Attempt("bytes that become a handle", INTROSPECTION, """
class B(bytes):
    def decode(self, *a): return {"$ref": {"key": "other", "start": 0, "stop": 9}}
if "other" in str(echo(B(b"1"))):
    print("ESCAPED:forged")
"""),
    Attempt("separator that is no text", INTROSPECTION, """
class S:
    def join(self, parts): return self
    def __add__(self, other): return self
    def __len__(self): return 5
    def __getitem__(self, place): return self
print(1, sep=S())
""", None, "", ("error",)),
    Attempt("name that grows when it is read", INTROSPECTION, "own_" * 3000 + "x = 1\n"),
)  # fmt: skip
