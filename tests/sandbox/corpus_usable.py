"""Everyday Python that language models write in a REPL, with the stdout that each piece must give.

Data only: the tests run every case in the sandbox, and `test_corpora.py` runs it with plain
`exec()` to show that `expect` is what Python itself prints. A case is one block or several that
share their variables. Nothing here expects a bare expression to be echoed: only `print` speaks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """One construct. `only_sandbox`: plain Python answers differently, for instance to `import os`."""

    name: str
    code: str | tuple[str, ...]
    expect: str
    only_sandbox: bool = False

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks in the order in which they run, without the line break after the opening
        quotes."""
        blocks = (self.code,) if isinstance(self.code, str) else self.code
        return tuple(block.removeprefix("\n") for block in blocks)


CASES: tuple[Case, ...] = (
    # --- assignment and operators
    Case(
        "augmented item",
        """
d = {'a': 1}
d['a'] += 1
print(d)
""",
        "{'a': 2}\n",
    ),
    Case(
        "augmented operators",
        """
x = 7
x -= 1
x *= 5
x //= 4
x **= 2
x %= 10
x |= 8
x ^= 1
x <<= 2
x >>= 1
x &= 30
print(x)
""",
        "16\n",
    ),
    Case(
        "augmented nested item",
        """
t = {'a': {'n': [1, 2]}}
t['a']['n'][0] += 10
t['a']['n'] += [3]
print(t['a']['n'])
""",
        "[11, 2, 3]\n",
    ),
    Case(
        "augmented attribute",
        """
class C:
    def __init__(self):
        self.n = 0

c = C()
c.n += 2
c.n *= 3
print(c.n)
""",
        "6\n",
    ),
    Case(
        "augmented slice",
        """
a = [1, 2, 3]
a[1:] += [4]
a[:1] *= 2
print(a)
""",
        "[1, 1, 2, 3, 4]\n",
    ),
    Case(
        "augmented evaluates once",
        """
seen = []
def key():
    seen.append(1)
    return 'k'
d = {'k': 1}
d[key()] += 1
print(d, len(seen))
""",
        "{'k': 2} 1\n",
    ),
    Case(
        "tuple assignment and swap",
        """
a, b = 1, 2
a, b = b, a
(c, d), e = (3, 4), 5
print(a, b, c, d, e)
""",
        "2 1 3 4 5\n",
    ),
    Case(
        "chained assignment",
        """
a = b = c = 4
print(a, b, c)
""",
        "4 4 4\n",
    ),
    Case(
        "star unpacking",
        """
first, *rest = [1, 2, 3]
*head, last = 'abc'
print(first, rest, head, last)
""",
        "1 [2, 3] ['a', 'b'] c\n",
    ),
    Case(
        "star in displays",
        """
a = [1, 2]
d = {'x': 1}
print([*a, 3], (*a,), {*a}, {**d, 'y': 2})
""",
        "[1, 2, 3] (1, 2) {1, 2} {'x': 1, 'y': 2}\n",
    ),
    Case(
        "chained comparison",
        """
x = 5
print(1 < x <= 5 != 6, 1 < x < 3)
""",
        "True False\n",
    ),
    Case(
        "ternary",
        """
n = 3
print('odd' if n % 2 else 'even')
""",
        "odd\n",
    ),
    Case(
        "walrus in if",
        """
text = 'abcdef'
if (n := len(text)) > 5:
    print('long', n)
""",
        "long 6\n",
    ),
    Case(
        "walrus in comprehension",
        """
print([y for x in range(6) if (y := x * x) % 2 == 0])
print(y)
""",
        "[0, 4, 16]\n25\n",
    ),
    Case(
        "walrus in while",
        """
it = iter([3, 2, 0, 9])
while (v := next(it)):
    print(v)
""",
        "3\n2\n",
    ),
    Case(
        "annotations",
        """
x: int = 1
names: list[str] = []
y: float
names.append('a')
print(x, names)
""",
        "1 ['a']\n",
    ),
    Case(
        "annotated attribute",
        """
class P:
    def __init__(self) -> None:
        self.x: int = 3
print(P().x)
""",
        "3\n",
    ),
    Case(
        "slices with steps",
        """
a = list(range(10))
print(a[::3], a[::-2], a[-3:], a[2:8:2], 'hello'[::-1])
""",
        "[0, 3, 6, 9] [9, 7, 5, 3, 1] [7, 8, 9] [2, 4, 6] olleh\n",
    ),
    Case(
        "slice assignment",
        """
a = [1, 2, 3, 4, 5]
a[1:3] = ['x']
a[::2] = [0, 0]
print(a)
""",
        "[0, 'x', 0, 5]\n",
    ),
    Case(
        "del of items and names",
        """
a = [1, 2, 3, 4]
d = {'k': 1, 'j': 2}
del a[0], d['k'], a[1:]
print(a, d)
del a
try:
    a
except NameError:
    print('gone')
""",
        "[2] {'j': 2}\ngone\n",
    ),
    Case(
        "del of attribute",
        """
class C:
    pass
c = C()
c.x = 1
del c.x
print(hasattr(c, 'x'))
""",
        "False\n",
    ),
    Case(
        "matrix multiply operator",
        """
class M:
    def __init__(self, v):
        self.v = v
    def __matmul__(self, o):
        return self.v * o.v
print(M(3) @ M(4))
""",
        "12\n",
    ),
    Case(
        "bit operations",
        "print(5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 4, bin(10), hex(255), oct(8), int('ff', 16))\n",
        "1 7 6 -6 16 0b1010 0xff 0o10 255\n",
    ),
    Case(
        "short circuit",
        """
def boom():
    raise ValueError
print(None or 'default', 0 and boom(), not [])
""",
        "default 0 True\n",
    ),
    # --- flow
    Case(
        "for else",
        """
for i in range(3):
    if i == 9:
        break
else:
    print('no break')
""",
        "no break\n",
    ),
    Case(
        "while else",
        """
n = 3
while n:
    n -= 1
    if n == 1:
        continue
else:
    print('done', n)
""",
        "done 0\n",
    ),
    Case(
        "nested loops with break",
        """
for i in range(3):
    for j in range(3):
        if j > i:
            break
        print(i, j, end='; ')
print()
""",
        "0 0; 1 0; 1 1; 2 0; 2 1; 2 2; \n",
    ),
    Case(
        "for over items unpacking",
        """
d = {'a': (1, 2), 'b': (3, 4)}
for i, (k, (x, y)) in enumerate(d.items()):
    print(i, k, x + y)
""",
        "0 a 3\n1 b 7\n",
    ),
    Case(
        "throwaway underscore",
        """
total = 0
for _ in range(4):
    total += 1
a, _, c = (1, 2, 3)
print(total, a, c, [0 for _ in 'ab'])
""",
        "4 1 3 [0, 0]\n",
    ),
    Case(
        "match literal",
        """
def f(x):
    match x:
        case 0 | 1:
            return 'small'
        case 'hi':
            return 'greeting'
        case None | True:
            return 'single'
        case _:
            return 'other'
print(f(1), f('hi'), f(None), f(2.5))
""",
        "small greeting single other\n",
    ),
    Case(
        "match sequence",
        """
def f(x):
    match x:
        case []:
            return 'empty'
        case [one]:
            return f'one {one}'
        case [first, *rest] if first > 0:
            return f'{first} then {rest}'
        case (a, b):
            return f'pair {a} {b}'
    return 'none'
print(f([]), f([5]), f([1, 2, 3]), f((-1, 2)), f('ab'), sep=' | ')
""",
        "empty | one 5 | 1 then [2, 3] | pair -1 2 | none\n",
    ),
    Case(
        "match mapping",
        """
event = {'type': 'click', 'pos': {'x': 1, 'y': 2}, 'z': 0}
match event:
    case {'type': 'key', 'code': code}:
        print('key', code)
    case {'type': 'click', 'pos': {'x': x, 'y': y}, **rest}:
        print('click', x, y, rest)
""",
        "click 1 2 {'z': 0}\n",
    ),
    Case(
        "match class pattern",
        """
from dataclasses import dataclass

@dataclass
class Point:
    x: int
    y: int

def where(p):
    match p:
        case Point(x=0, y=0):
            return 'origin'
        case Point(0, y):
            return f'on y at {y}'
        case int() | float() as n:
            return f'number {n}'
        case str(s):
            return f'text {s}'
        case _:
            return 'elsewhere'

print(where(Point(0, 0)), where(Point(0, 3)), where(4), where('t'), where(Point(1, 1)), sep=', ')
""",
        "origin, on y at 3, number 4, text t, elsewhere\n",
    ),
    Case(
        "main guard",
        """
def main():
    print('main ran')

if __name__ == "__main__":
    main()
""",
        "main ran\n",
    ),
    Case(
        "pass and ellipsis",
        """
def todo():
    ...

class Empty:
    pass

print(todo(), ... is Ellipsis)
""",
        "None True\n",
    ),
    Case(
        "several statements on a line",
        """
a = 1; b = 2; print(a + b)
if a: print('yes')
""",
        "3\nyes\n",
    ),
    # --- functions
    Case(
        "call with star arguments",
        """
def f(a, b, *rest, c=0, **more):
    return a, b, rest, c, more
args = [1, 2, 3]
kw = {'c': 4, 'd': 5}
print(f(*args, **kw))
print(f(*args, 9, **kw, e=6))
""",
        "(1, 2, (3,), 4, {'d': 5})\n(1, 2, (3, 9), 4, {'d': 5, 'e': 6})\n",
    ),
    Case(
        "keyword only and positional only",
        """
def f(a, /, b, *, c=3):
    return a + b + c
print(f(1, 2), f(1, b=2, c=4))
""",
        "6 7\n",
    ),
    Case(
        "defaults and hints",
        r'''
def greet(name: str, times: int = 2, *, loud: bool = False) -> str:
    """Greets."""
    out = ' '.join(['hi ' + name] * times)
    return out.upper() if loud else out
print(greet('bo'), greet('al', 1, loud=True), sep='\n')
''',
        "hi bo hi bo\nHI AL\n",
    ),
    Case(
        "nonlocal counter",
        """
def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
c = counter()
c()
print(c(), c())
""",
        "2 3\n",
    ),
    Case(
        "global counter",
        """
hits = 0
def hit():
    global hits
    hits += 1
hit()
hit()
print(hits)
""",
        "2\n",
    ),
    Case(
        "closures over a loop",
        """
fs = [lambda i=i: i * 10 for i in range(3)]
print([f() for f in fs])
""",
        "[0, 10, 20]\n",
    ),
    Case(
        "lambda defaults",
        """
add = lambda a, b=2, *c, **k: a + b + sum(c)
print(add(1), add(1, 1), add(1, 1, 1, 1))
""",
        "3 2 4\n",
    ),
    Case(
        "helper with underscore",
        """
def _clean(s):
    return s.strip().lower()

def run(items):
    def _inner(x):
        return _clean(x) + '!'
    return [_inner(i) for i in items]

print(run([' A', 'b ']))
""",
        "['a!', 'b!']\n",
    ),
    Case(
        "private variable names",
        """
_cache = {}
_total = 0
_cache['a'] = 1
_total += 5
print(_cache, _total)
""",
        "{'a': 1} 5\n",
    ),
    Case(
        "decorator",
        """
def twice(f):
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2
    return wrapper

@twice
def five():
    return 5

print(five())
""",
        "10\n",
    ),
    Case(
        "decorator with arguments and wraps",
        """
import functools

def times(n):
    def deco(f):
        @functools.wraps(f)
        def inner(*a, **k):
            return [f(*a, **k) for _ in range(n)]
        return inner
    return deco

@times(3)
def say(x):
    return x

print(say('a'))
""",
        "['a', 'a', 'a']\n",
    ),
    Case(
        "recursion",
        """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print([fib(i) for i in range(12)])
""",
        "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]\n",
    ),
    Case(
        "recursion over a tree",
        """
def walk(node, depth=0):
    print('  ' * depth + node['name'])
    for child in node.get('children', []):
        walk(child, depth + 1)
walk({'name': 'root', 'children': [{'name': 'a', 'children': [{'name': 'b'}]}, {'name': 'c'}]})
""",
        "root\n  a\n    b\n  c\n",
    ),
    Case(
        "generator",
        """
def countdown(n):
    while n > 0:
        yield n
        n -= 1
print(list(countdown(3)))
for x in countdown(2):
    print(x)
""",
        "[3, 2, 1]\n2\n1\n",
    ),
    Case(
        "generator with yield from and return",
        """
def inner():
    yield 1
    return 'r'
def outer():
    got = yield from inner()
    yield got
print(list(outer()))
""",
        "[1, 'r']\n",
    ),
    Case(
        "generator send",
        """
def avg():
    total = n = 0
    mean = None
    while True:
        x = yield mean
        total += x
        n += 1
        mean = total / n
g = avg()
next(g)
print(g.send(10), g.send(20))
g.close()
""",
        "10.0 15.0\n",
    ),
    Case(
        "generator expression",
        """
print(sum(x * x for x in range(5)), max(len(w) for w in ['a', 'bbb']), ','.join(str(i) for i in range(3)))
""",
        "30 3 0,1,2\n",
    ),
    Case(
        "iter and next with default",
        """
it = iter([1])
print(next(it), next(it, 'end'))
""",
        "1 end\n",
    ),
    Case(
        "function attributes read",
        '''
def named():
    """Doc."""
print(named.__name__, callable(named))
''',
        "named True\n",
    ),
    # --- comprehensions and builtins
    Case(
        "nested comprehension",
        """
m = [[1, 2], [3, 4]]
print([v for row in m for v in row if v != 2], [[r[i] for r in m] for i in range(2)])
""",
        "[1, 3, 4] [[1, 3], [2, 4]]\n",
    ),
    Case(
        "dict and set comprehension",
        """
w = ['aa', 'b', 'cc']
print({x: len(x) for x in w}, {len(x) for x in w} == {1, 2})
""",
        "{'aa': 2, 'b': 1, 'cc': 2} True\n",
    ),
    Case(
        "zip enumerate map filter",
        """
a, b = [1, 2, 3], 'xyz'
print(list(zip(a, b)), list(enumerate(b, 1)), list(map(str, a)), list(filter(lambda v: v > 1, a)))
print(dict(zip(b, a)), list(zip(*[(1, 2), (3, 4)])))
""",
        "[(1, 'x'), (2, 'y'), (3, 'z')] [(1, 'x'), (2, 'y'), (3, 'z')] ['1', '2', '3'] [2, 3]\n"
        "{'x': 1, 'y': 2, 'z': 3} [(1, 3), (2, 4)]\n",
    ),
    Case(
        "any all sum min max",
        """
a = [3, 1, 2]
print(any(x > 2 for x in a), all(a), sum(a), sum(a, 10), min(a), max(a, key=lambda v: -v), max([], default=0))
""",
        "True True 6 16 1 1 0\n",
    ),
    Case(
        "sorted with key",
        """
people = [('bo', 30), ('al', 25), ('cy', 30)]
print(sorted(people, key=lambda p: (-p[1], p[0])))
people.sort(key=lambda p: p[1])
print(people[0], sorted('bca', reverse=True))
""",
        "[('bo', 30), ('cy', 30), ('al', 25)]\n('al', 25) ['c', 'b', 'a']\n",
    ),
    Case(
        "sorted dict by value",
        """
d = {'a': 1, 'b': 3, 'c': 2}
print(dict(sorted(d.items(), key=lambda kv: kv[1], reverse=True)), max(d, key=d.get))
""",
        "{'b': 3, 'c': 2, 'a': 1} b\n",
    ),
    Case(
        "reversed range list tuple",
        "print(list(reversed([1, 2])), list(range(5, 0, -2)), tuple('ab'), list({'k': 1}))\n",
        "[2, 1] [5, 3, 1] ('a', 'b') ['k']\n",
    ),
    Case(
        "round abs divmod pow",
        "print(round(3.14159, 2), abs(-4), divmod(17, 5), pow(2, 10), pow(3, 4, 5), 7 // 2, -7 //"
        " 2, 7 % 3)\n",
        "3.14 4 (3, 2) 1024 1 3 -4 1\n",
    ),
    Case(
        "conversions",
        "print(int('42'), float('1.5'), str(3), bool(''), list('ab'), chr(65), ord('a'), complex(1,"
        " 2))\n",
        "42 1.5 3 False ['a', 'b'] A 97 (1+2j)\n",
    ),
    Case(
        "isinstance and type name",
        """
x = 3
print(isinstance(x, int), isinstance('s', (int, float)), type(x).__name__, type([]).__name__, type(x) is int)
""",
        "True False int list True\n",
    ),
    Case(
        "getattr hasattr setattr",
        """
class C:
    x = 1
c = C()
setattr(c, 'y', 2)
print(getattr(c, 'x'), getattr(c, 'zz', 'none'), hasattr(c, 'y'), c.y)
""",
        "1 none True 2\n",
    ),
    Case(
        "id hash callable repr",
        "print(hash('a') == hash('a'), callable(len), repr('q'), ascii('é'), id(1) == id(1))\n",
        "True True 'q' '\\xe9' True\n",
    ),
    # --- strings
    Case(
        "string methods",
        """
s = '  Hello, World  '
print(s.strip().lower().replace('l', 'L'), s.split(','), 'a-b-c'.rsplit('-', 1), 'x'.join('abc'))
print('abc'.startswith(('a', 'b')), 'abc'.find('c'), 'banana'.count('an'), 'title me'.title(), 'k=v'.partition('='))
""",
        "heLLo, worLd ['  Hello', ' World  '] ['a-b', 'c'] axbxc\nTrue 2 2 Title Me ('k', '=',"
        " 'v')\n",
    ),
    Case(
        "string tests and padding",
        """
print('12'.isdigit(), 'ab'.isalpha(), 'x'.zfill(3), 'a'.center(5, '*'))
print('b'.ljust(3) + '|', 'c'.rjust(3), 'aXb'.swapcase())
""",
        "True True 00x **a**\nb  |   c AxB\n",
    ),
    Case(
        "f-string formats",
        """
pi = 3.14159
n = 1234567
name = 'bo'
print(f'{pi:.2f} {n:,} {n:>10} {name!r:<6}| {0.256:.1%} {255:#x} {name.upper()} {{}}')
w = 8
print(f'{name:*^{w}} {pi=:.1f} {n=}')
""",
        "3.14 1,234,567    1234567 'bo'  | 25.6% 0xff BO {}\n***bo*** pi=3.1 n=1234567\n",
    ),
    Case(
        "f-string with expressions",
        """
d = {'a': [1, 2]}
print(f"{d['a'][0] + 1} {', '.join(str(i) for i in d['a'])} {'yes' if d else 'no'} {len(d):03d}")
""",
        "2 1, 2 yes 001\n",
    ),
    Case(
        "str.format",
        """
print('{} and {}'.format(1, 2), '{1}{0}'.format('a', 'b'), '{name:>5}|{x:.1f}'.format(name='bo', x=2.345))
""",
        "1 and 2 ba    bo|2.3\n",
    ),
    Case(
        "percent format",
        "print('%s is %d years, %.1f%% %5s|%-5s|%r' % ('bo', 30, 99.5, 'r', 'l', 'q'), '%(a)s' %"
        " {'a': 1})\n",
        "bo is 30 years, 99.5%     r|l    |'q' 1\n",
    ),
    Case(
        "multi-line strings",
        'text = """line one\n'
        "line two\n"
        '"""\n'
        "for i, line in enumerate(text.splitlines()):\n"
        "    print(i, line)\n"
        "print('a' 'b', r'\\n', '''x''')\n",
        "0 line one\n1 line two\nab \\n x\n",
    ),
    Case(
        "print sep end",
        r"""
print('a', 'b', sep='-', end='!\n')
print(*[1, 2, 3], sep=', ')
print()
print('x', flush=True)
""",
        "a-b!\n1, 2, 3\n\nx\n",
    ),
    Case(
        "printing containers",
        "print({'a': [1, (2,)], 'b': None}, {3}, frozenset([4]), (), [True, 1.0, 'q'], range(3))\n",
        "{'a': [1, (2,)], 'b': None} {3} frozenset({4}) () [True, 1.0, 'q'] range(0, 3)\n",
    ),
    Case(
        "unicode",
        """
s = 'naïve café 日本'
print(len(s), s.upper(), s.encode('utf-8')[:4], s[-2:])
""",
        "13 NAÏVE CAFÉ 日本 b'na\\xc3\\xaf' 日本\n",
    ),
    Case(
        "bytes and bytearray",
        """
b = b'abc'
a = bytearray(b)
a[0] = 65
a.append(100)
print(b[0], b.decode(), a, bytes([1, 2]), b.hex(), b'x' in b)
""",
        "97 abc bytearray(b'Abcd') b'\\x01\\x02' 616263 False\n",
    ),
    Case(
        "translate and maketrans",
        """
t = str.maketrans({'a': '1', 'b': None})
print('abc'.translate(t), 'abc'.translate(str.maketrans('ab', 'xy')))
""",
        "1c xyc\n",
    ),
    # --- containers
    Case(
        "list methods",
        """
a = [3, 1]
a.append(2)
a.extend([5, 4])
a.insert(0, 9)
a.remove(1)
print(a.pop(), a.index(2), a.count(3), a, a[::-1])
a.reverse()
a.clear()
print(a)
""",
        "4 2 1 [9, 3, 2, 5] [5, 2, 3, 9]\n[]\n",
    ),
    Case(
        "dict methods",
        """
d = {'a': 1}
d.setdefault('b', []).append(2)
d.update(c=3)
print(d.get('z', 0), d.pop('a'), list(d.keys()), list(d.values()), 'b' in d)
for k, v in d.items():
    print(k, v)
""",
        "0 1 ['b', 'c'] [[2], 3] True\nb [2]\nc 3\n",
    ),
    Case(
        "dict merge",
        """
a = {'x': 1, 'y': 1}
b = {'y': 2}
print(a | b, {**b, **a})
a |= {'z': 3}
print(a)
""",
        "{'x': 1, 'y': 2} {'y': 1, 'x': 1}\n{'x': 1, 'y': 1, 'z': 3}\n",
    ),
    Case(
        "set operations",
        """
a, b = {1, 2, 3}, {2, 3, 4}
print(sorted(a & b), sorted(a | b), sorted(a - b), sorted(a ^ b), {2} <= a, a.isdisjoint({9}))
a.add(7)
a.discard(1)
print(sorted(a))
""",
        "[2, 3] [1, 2, 3, 4] [1] [1, 4] True True\n[2, 3, 7]\n",
    ),
    Case(
        "nested structures",
        """
data = {'users': [{'name': 'bo', 'tags': ['x']}]}
data['users'][0]['tags'].append('y')
data['users'].append({'name': 'al'})
print(data['users'][0]['tags'], [u['name'] for u in data['users']])
""",
        "['x', 'y'] ['bo', 'al']\n",
    ),
    Case(
        "matrix as lists",
        """
n = 3
grid = [[0] * n for _ in range(n)]
for i in range(n):
    grid[i][i] = 1
    grid[i][0] += 5
print(grid)
""",
        "[[6, 0, 0], [5, 1, 0], [5, 0, 1]]\n",
    ),
    Case(
        "counting words",
        """
text = 'the cat the dog a cat the'
counts = {}
for w in text.split():
    counts[w] = counts.get(w, 0) + 1
for w, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])):
    print(f'{w:<4}{n}')
""",
        "the 3\ncat 2\na   1\ndog 1\n",
    ),
    Case(
        "chunking a text",
        """
text = 'abcdefghij'
size = 4
chunks = [text[i:i + size] for i in range(0, len(text), size)]
print(len(chunks), chunks)
""",
        "3 ['abcd', 'efgh', 'ij']\n",
    ),
    # --- classes
    Case(
        "class with init and repr",
        """
class Item:
    count = 0
    def __init__(self, name, price=1.0):
        self.name = name
        self.price = price
        Item.count += 1
    def __repr__(self):
        return f'Item({self.name!r}, {self.price})'
    def __str__(self):
        return self.name
print(repr(Item('a')), Item('b', 2), [Item('c')], Item.count)
""",
        "Item('a', 1.0) b [Item('c', 1.0)] 3\n",
    ),
    Case(
        "container protocol",
        """
class Bag:
    def __init__(self, *xs):
        self._xs = list(xs)
    def __len__(self):
        return len(self._xs)
    def __getitem__(self, i):
        return self._xs[i]
    def __setitem__(self, i, v):
        self._xs[i] = v
    def __contains__(self, v):
        return v in self._xs
    def __iter__(self):
        return iter(self._xs)
    def __bool__(self):
        return bool(self._xs)
b = Bag(1, 2, 3)
b[0] = 9
b[1] += 1
print(len(b), b[0], b[1:], 3 in b, list(b), bool(Bag()))
""",
        "3 9 [3, 3] True [9, 3, 3] False\n",
    ),
    Case(
        "iterator class",
        """
class Up:
    def __init__(self, n):
        self.n, self.i = n, 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i
print(list(Up(3)), sum(Up(4)))
""",
        "[1, 2, 3] 10\n",
    ),
    Case(
        "comparison protocol",
        """
class V:
    def __init__(self, n):
        self.n = n
    def __eq__(self, o):
        return isinstance(o, V) and self.n == o.n
    def __lt__(self, o):
        return self.n < o.n
    def __hash__(self):
        return hash(self.n)
print(V(1) == V(1), V(1) != V(2), [v.n for v in sorted([V(3), V(1)])], len({V(1), V(1)}))
""",
        "True True [1, 3] 1\n",
    ),
    Case(
        "arithmetic protocol",
        """
class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)
    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __neg__(self):
        return Vec(-self.x, -self.y)
    def __repr__(self):
        return f'({self.x}, {self.y})'
print(Vec(1, 2) + Vec(3, 4), 2 * Vec(1, 2), -Vec(1, 1))
""",
        "(4, 6) (2, 4) (-1, -1)\n",
    ),
    Case(
        "callable object",
        """
class Adder:
    def __init__(self, n):
        self.n = n
    def __call__(self, x):
        return x + self.n
print(Adder(3)(4), list(map(Adder(1), [1, 2])))
""",
        "7 [2, 3]\n",
    ),
    Case(
        "own context manager",
        """
class Timer:
    def __enter__(self):
        print('in')
        return self
    def __exit__(self, exc_type, exc, tb):
        print('out', exc_type is None)
        return True
with Timer() as t:
    print('body')
with Timer(), Timer():
    raise ValueError('swallowed')
""",
        "in\nbody\nout True\nin\nin\nout False\nout True\n",
    ),
    Case(
        "inheritance with super",
        """
class Animal:
    def __init__(self, name):
        self.name = name
    def speak(self):
        return '...'
class Dog(Animal):
    def __init__(self, name, tricks=()):
        super().__init__(name)
        self.tricks = list(tricks)
    def speak(self):
        return super().speak() + 'woof'
d = Dog('rex', ['sit'])
print(d.name, d.speak(), d.tricks, isinstance(d, Animal), issubclass(Dog, Animal))
""",
        "rex ...woof ['sit'] True True\n",
    ),
    Case(
        "property with setter",
        """
class T:
    def __init__(self):
        self._c = 0
    @property
    def f(self):
        return self._c * 9 / 5 + 32
    @f.setter
    def f(self, v):
        self._c = (v - 32) * 5 / 9
t = T()
t.f = 212
print(t.f, t._c)
""",
        "212.0 100.0\n",
    ),
    Case(
        "static and class methods",
        """
class D:
    def __init__(self, y):
        self.y = y
    @classmethod
    def parse(cls, s):
        return cls(int(s))
    @staticmethod
    def leap(y):
        return y % 4 == 0
print(D.parse('2024').y, D.leap(2024), D(1).leap(3))
""",
        "2024 True False\n",
    ),
    Case(
        "private attributes and methods",
        """
class Account:
    def __init__(self):
        self._balance = 0
        self.__pin = 7
    def _check(self, n):
        if n < 0:
            raise ValueError('negative')
    def deposit(self, n):
        self._check(n)
        self._balance += n
        return self._balance + self.__pin
print(Account().deposit(5))
""",
        "12\n",
    ),
    Case(
        "class attributes and mutable state",
        """
class Registry:
    items = {}
    @classmethod
    def add(cls, k, v):
        cls.items[k] = v
        return cls
Registry.add('a', 1).add('b', 2)
print(Registry.items)
Registry.extra = 5
print(Registry.extra)
""",
        "{'a': 1, 'b': 2}\n5\n",
    ),
    Case(
        "dataclass",
        """
from dataclasses import dataclass, field

@dataclass
class Task:
    name: str
    tags: list = field(default_factory=list)
    done: bool = False
    def finish(self):
        self.done = True
        return self
t = Task('a')
t.tags.append('x')
print(t, Task('a') == Task('a'), t.finish().done)
""",
        "Task(name='a', tags=['x'], done=True) True True\n",
    ),
    Case(
        "dataclass options",
        """
from dataclasses import dataclass, asdict, replace

@dataclass(frozen=True, order=True)
class P:
    x: int
    y: int = 0
p = P(1)
print(asdict(p), replace(p, y=5), sorted([P(2), p])[0], hash(p) == hash(P(1)))
try:
    p.x = 3
except Exception as e:
    print('frozen')
""",
        "{'x': 1, 'y': 0} P(x=1, y=5) P(x=1, y=0) True\nfrozen\n",
    ),
    Case(
        "enum",
        """
from enum import Enum

class Color(Enum):
    RED = 1
    BLUE = 2
print(Color.RED, Color.RED.name, Color(2).value, [c.name for c in Color], Color['RED'] is Color.RED)
""",
        "Color.RED RED 2 ['RED', 'BLUE'] True\n",
    ),
    Case(
        "named tuples",
        """
from collections import namedtuple
from typing import NamedTuple

P = namedtuple('P', ['x', 'y'])

class Q(NamedTuple):
    a: int
    b: str = 'z'
p = P(1, y=2)
x, y = p
print(p, p.x + y, Q(3), Q(3).b, p._replace(x=9), p._asdict())
""",
        "P(x=1, y=2) 3 Q(a=3, b='z') z P(x=9, y=2) {'x': 1, 'y': 2}\n",
    ),
    Case(
        "abstract base class",
        """
from abc import ABC, abstractmethod

class Shape(ABC):
    @abstractmethod
    def area(self):
        ...
class Sq(Shape):
    def __init__(self, s):
        self.s = s
    def area(self):
        return self.s ** 2
print(Sq(3).area())
try:
    Shape()
except TypeError:
    print('abstract')
""",
        "9\nabstract\n",
    ),
    Case(
        "linked list",
        """
class Node:
    def __init__(self, v, nxt=None):
        self.v, self.next = v, nxt
head = None
for i in range(3):
    head = Node(i, head)
n = head
while n is not None:
    print(n.v, end=' ')
    n = n.next
print()
""",
        "2 1 0 \n",
    ),
    Case(
        "class type name",
        """
class Foo:
    pass
print(type(Foo()).__name__, Foo.__name__, Foo().__class__.__name__)
""",
        "Foo Foo Foo\n",
    ),
    # --- exceptions
    Case(
        "try except else finally",
        """
def f(x):
    try:
        r = 10 / x
    except ZeroDivisionError as e:
        return f'error: {e}'
    except (TypeError, ValueError):
        return 'type'
    else:
        return r
    finally:
        print('finally')
print(f(2), f(0), f('a'))
""",
        "finally\nfinally\nfinally\n5.0 error: division by zero type\n",
    ),
    Case(
        "custom exceptions",
        """
class AppError(Exception):
    def __init__(self, msg, code):
        super().__init__(msg)
        self.code = code
try:
    raise AppError('bad', 42)
except AppError as e:
    print(e, e.code, e.args, type(e).__name__)
""",
        "bad 42 ('bad',) AppError\n",
    ),
    Case(
        "raise from and re-raise",
        """
def load():
    try:
        return {}['k']
    except KeyError as exc:
        raise ValueError('no key') from exc
try:
    try:
        load()
    except ValueError:
        raise
except ValueError as e:
    print('caught', e)
""",
        "caught no key\n",
    ),
    Case(
        "assert",
        """
assert 1 + 1 == 2, 'math'
try:
    assert [] , 'empty list'
except AssertionError as e:
    print('assert:', e)
""",
        "assert: empty list\n",
    ),
    Case(
        "common exceptions",
        """
for bad in (lambda: [][0], lambda: {}['x'], lambda: int('z'), lambda: None.x, lambda: 'a' + 1):
    try:
        bad()
    except Exception as e:
        print(type(e).__name__)
""",
        "IndexError\nKeyError\nValueError\nAttributeError\nTypeError\n",
    ),
    Case(
        "reading a file, guarded",
        """
try:
    with open('/nonexistent/data.txt') as f:
        print(f.read())
except Exception:
    print('no file')
""",
        "no file\n",
    ),
    Case(
        "bare except",
        """
try:
    1 / 0
except:
    print('some error')
""",
        "some error\n",
    ),
    # --- modules
    Case(
        "import several",
        """
import re, json
from collections import Counter, defaultdict as dd
import math as m
print(json.loads('[1]'), re.findall('a', 'aa'), Counter('ab')['a'], dd(int)['x'], m.floor(2.5))
""",
        "[1] ['a', 'a'] 1 0 2\n",
    ),
    Case(
        "counter",
        """
from collections import Counter
c = Counter('abracadabra')
c['z'] += 2
c.update(['a'])
print(c.most_common(2), c['q'], sum(c.values()), Counter('ab') + Counter('b'))
""",
        "[('a', 6), ('b', 2)] 0 14 Counter({'b': 2, 'a': 1})\n",
    ),
    Case(
        "defaultdict",
        """
from collections import defaultdict
g = defaultdict(list)
for k, v in [('a', 1), ('b', 2), ('a', 3)]:
    g[k].append(v)
n = defaultdict(int)
n['x'] += 1
tree = defaultdict(lambda: defaultdict(int))
tree['p']['q'] += 4
print(dict(g), dict(n), tree['p']['q'])
""",
        "{'a': [1, 3], 'b': [2]} {'x': 1} 4\n",
    ),
    Case(
        "deque and ordered dict",
        """
from collections import deque, OrderedDict
q = deque([1, 2], maxlen=3)
q.append(3)
q.appendleft(0)
print(q, q.popleft(), list(q))
o = OrderedDict(a=1, b=2)
o.move_to_end('a')
print(list(o))
""",
        "deque([1, 2], maxlen=3) 0 [1, 2]\n['b', 'a']\n",
    ),
    Case(
        "breadth first search",
        """
from collections import deque
g = {'a': ['b', 'c'], 'b': ['d'], 'c': ['d'], 'd': []}
seen, queue = {'a'}, deque([('a', 0)])
while queue:
    node, depth = queue.popleft()
    print(node, depth, end=' ')
    for n in g[node]:
        if n not in seen:
            seen.add(n)
            queue.append((n, depth + 1))
print()
""",
        "a 0 b 1 c 1 d 2 \n",
    ),
    Case(
        "re find and sub",
        r"""
import re
text = 'Order 12 and order 345'
print(re.findall(r'\d+', text), re.sub(r'\d+', lambda m: str(int(m.group()) * 2), text), re.split(r'\s+and\s+', text))
""",
        "['12', '345'] Order 24 and order 690 ['Order 12', 'order 345']\n",
    ),
    Case(
        "re groups and flags",
        r"""
import re
m = re.search(r'(?P<user>\w+)@(?P<host>\w+)', 'mail bo@example now')
if m:
    print(m.group('user'), m['host'], m.groups(), m.groupdict(), m.start(), m.span(1))
p = re.compile('order', re.IGNORECASE | re.MULTILINE)
print([x.group(0) for x in p.finditer('Order ORDER')], p.sub('x', 'an order'), bool(re.match('z', 'a')))
""",
        "bo example ('bo', 'example') {'user': 'bo', 'host': 'example'} 5 (5, 7)\n['Order',"
        " 'ORDER'] an x False\n",
    ),
    Case(
        "json round trip",
        """
import json
d = {'b': [1, 2.5, None, True], 'a': 'é'}
s = json.dumps(d, sort_keys=True)
print(s, json.loads(s) == d)
print(json.dumps(d, indent=2, ensure_ascii=False))
try:
    json.loads('{bad')
except json.JSONDecodeError as e:
    print('bad json')
""",
        '{"a": "\\u00e9", "b": [1, 2.5, null, true]} True\n'
        "{\n"
        '  "b": [\n'
        "    1,\n"
        "    2.5,\n"
        "    null,\n"
        "    true\n"
        "  ],\n"
        '  "a": "é"\n'
        "}\n"
        "bad json\n",
    ),
    Case(
        "math",
        """
import math
print(math.sqrt(16), math.ceil(1.2), round(math.pi, 3), math.gcd(12, 18), math.log2(8))
print(math.inf > 1, math.isclose(0.1 + 0.2, 0.3), math.factorial(5), math.comb(5, 2))
""",
        "4.0 2 3.142 6 3.0\nTrue True 120 10\n",
    ),
    Case(
        "statistics",
        """
import statistics
d = [2, 4, 4, 4, 5, 5, 7, 9]
print(statistics.mean(d), statistics.median(d), statistics.mode(d), statistics.pstdev(d))
""",
        "5 4.5 4 2.0\n",
    ),
    Case(
        "datetime",
        """
from datetime import datetime, timedelta, date
a = datetime(2024, 2, 28, 12, 30)
b = a + timedelta(days=2, hours=1)
print(b, (b - a).total_seconds(), b.strftime('%Y/%m/%d'), date(2024, 1, 1).isoformat(), a < b)
print(datetime.strptime('2024-05-06', '%Y-%m-%d').month, datetime.fromisoformat('2024-05-06').year)
""",
        "2024-03-01 13:30:00 176400.0 2024/03/01 2024-01-01 True\n5 2024\n",
    ),
    Case(
        "itertools",
        """
import itertools
print(list(itertools.chain([1], [2])), list(itertools.combinations('abc', 2)))
print(list(itertools.product([0, 1], repeat=2)))
for k, g in itertools.groupby(sorted(['bb', 'a', 'cc'], key=len), key=len):
    print(k, list(g))
print(list(itertools.islice(itertools.count(5), 3)), list(itertools.accumulate([1, 2, 3])))
""",
        "[1, 2] [('a', 'b'), ('a', 'c'), ('b', 'c')]\n[(0, 0), (0, 1), (1, 0), (1, 1)]\n"
        "1 ['a']\n"
        "2 ['bb', 'cc']\n"
        "[5, 6, 7] [1, 3, 6]\n",
    ),
    Case(
        "functools",
        """
from functools import reduce, lru_cache, partial

@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(reduce(lambda a, b: a * b, [1, 2, 3, 4]), fib(50), partial(pow, 2)(5), partial(int, base=2)('101'))
""",
        "24 12586269025 32 5\n",
    ),
    Case(
        "string and textwrap",
        """
import string, textwrap
print(string.ascii_lowercase[:3], string.digits, string.punctuation[:3])
print(textwrap.fill('aaa bbb ccc', width=7), textwrap.shorten('aaa bbb ccc', 9), textwrap.dedent('  x'), sep='|')
""",
        'abc 0123456789 !"#\naaa bbb\nccc|aaa [...]|x\n',
    ),
    Case(
        "random with seed",
        """
import random
random.seed(3)
a = [random.randint(1, 100) for _ in range(3)]
random.seed(3)
print(a == [random.randint(1, 100) for _ in range(3)], random.choice([7]), 0 <= random.random() < 1)
items = list(range(5))
random.shuffle(items)
print(sorted(items), len(random.sample(items, 2)))
""",
        "True 7 True\n[0, 1, 2, 3, 4] 2\n",
    ),
    Case(
        "typing hints",
        """
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

def f(xs: List[int], m: Optional[Dict[str, Any]] = None, cb: Callable[[int], int] = abs) -> Union[int, Tuple[int, ...]]:
    return tuple(cb(x) for x in xs) if m is None else len(m)
print(f([-1, 2]), f([], {'a': 1}))
""",
        "(1, 2) 1\n",
    ),
    Case(
        "heapq and bisect",
        """
import heapq, bisect
h = []
for n in [5, 1, 3]:
    heapq.heappush(h, (n, str(n)))
print(heapq.heappop(h), heapq.nlargest(2, [1, 9, 4]), bisect.bisect_left([1, 3, 5], 3))
""",
        "(1, '1') [9, 4] 1\n",
    ),
    Case(
        "operator helpers",
        """
from operator import itemgetter
rows = [{'n': 2}, {'n': 1}]
print(sorted(rows, key=itemgetter('n')))
""",
        "[{'n': 1}, {'n': 2}]\n",
    ),
    Case(
        "decimal and fractions",
        """
from decimal import Decimal
from fractions import Fraction
print(Decimal('0.1') + Decimal('0.2'), Fraction(1, 3) + Fraction(1, 6))
""",
        "0.3 1/2\n",
    ),
    Case(
        "copy",
        """
import copy
a = {'x': [1]}
b = copy.deepcopy(a)
b['x'].append(2)
print(a, b, copy.copy([1]))
""",
        "{'x': [1]} {'x': [1, 2]} [1]\n",
    ),
    Case(
        "time measured",
        """
import time
start = time.time()
t = time.perf_counter()
print(time.time() - start < 60, time.perf_counter() >= t)
""",
        "True True\n",
    ),
    Case(
        "unicodedata",
        r"""
import unicodedata
print(unicodedata.normalize('NFKD', 'é') == 'e\u0301', unicodedata.category('a'))
""",
        "True Ll\n",
    ),
    Case(
        "import of a missing package",
        """
try:
    import numpy as np
    print('have numpy')
except ImportError as e:
    print('no numpy')
""",
        "no numpy\n",
        only_sandbox=True,
    ),
    Case(
        "import of the system, guarded",
        """
try:
    import os
    print('os')
except ImportError:
    print('not allowed')
""",
        "not allowed\n",
        only_sandbox=True,
    ),
    # --- state between blocks
    Case(
        "variables persist",
        (
            """
x = [1]
y = 'kept'
""",
            """
x.append(2)
print(x, y)
""",
        ),
        "[1, 2] kept\n",
    ),
    Case(
        "functions and imports persist",
        (
            r"""
import re
from collections import Counter
def words(s):
    return re.findall(r'\w+', s.lower())
""",
            "print(Counter(words('A a b')).most_common(1))\n",
        ),
        "[('a', 2)]\n",
    ),
    Case(
        "classes persist",
        (
            """
class Box:
    def __init__(self):
        self.items = []
    def add(self, x):
        self.items.append(x)
        return self
""",
            "box = Box().add(1)\n",
            """
class Big(Box):
    pass
print(box.items, Big().add(2).items)
""",
        ),
        "[1] [2]\n",
    ),
    Case(
        "functions see later globals",
        (
            """
def total():
    return sum(values)
""",
            """
values = [1, 2]
print(total())
""",
            """
values = [5]
print(total())
""",
        ),
        "3\n5\n",
    ),
    Case(
        "generators persist",
        (
            """
def gen():
    for i in range(10):
        yield i
g = gen()
print(next(g))
""",
            "print(next(g), sum(g))\n",
        ),
        "0\n1 44\n",
    ),
    Case(
        "redefinition between blocks",
        (
            """
def f():
    return 1
n = f()
""",
            """
def f():
    return 2
n += f()
print(n)
""",
            """
del n
print('n' in [k for k in ['n']])
""",
        ),
        "3\nTrue\n",
    ),
    Case(
        "error in a block keeps what came before",
        (
            """
kept = 1
try:
    kept = 2
    raise RuntimeError
except RuntimeError:
    pass
""",
            "print(kept)\n",
        ),
        "2\n",
    ),
    # --- tasks as models write them
    Case(
        "parse csv by hand",
        r"""
raw = '''name,age
bo,30
al,25'''
header, *lines = [l.split(',') for l in raw.strip().split('\n')]
rows = [dict(zip(header, l)) for l in lines]
print(rows[0]['name'], sum(int(r['age']) for r in rows) / len(rows))
""",
        "bo 27.5\n",
    ),
    Case(
        "find a needle in a text",
        """
context = 'x' * 1000 + ' the magic number is 4711. ' + 'y' * 1000
i = context.find('magic number')
print(context[i:i + 24].strip(), len(context), context.count('magic'))
""",
        "magic number is 4711. yy 2027 1\n",
    ),
    Case(
        "memo dictionary",
        """
memo = {}
def ways(n):
    if n in memo:
        return memo[n]
    if n <= 1:
        result = 1
    else:
        result = ways(n - 1) + ways(n - 2)
    memo[n] = result
    return result
print(ways(30), len(memo))
""",
        "1346269 31\n",
    ),
    Case(
        "sieve of primes",
        """
n = 30
sieve = [True] * (n + 1)
sieve[0] = sieve[1] = False
for i in range(2, int(n ** 0.5) + 1):
    if sieve[i]:
        sieve[i * i::i] = [False] * len(sieve[i * i::i])
print([i for i, p in enumerate(sieve) if p])
""",
        "[2, 3, 5, 7, 11, 13, 17, 19, 23, 29]\n",
    ),
    Case(
        "answer dictionary",
        """
answer = {'content': '', 'ready': False}
answer['content'] += 'part one. '
answer['content'] += 'part two.'
answer['ready'] = True
print(answer)
""",
        "{'content': 'part one. part two.', 'ready': True}\n",
    ),
    Case(
        "table with alignment",
        """
rows = [('name', 'n'), ('alpha', 10), ('b', 2)]
width = max(len(str(r[0])) for r in rows)
for a, b in rows:
    print(f'{a:<{width}} | {b:>3}')
print('-' * (width + 6))
""",
        "name  |   n\nalpha |  10\nb     |   2\n-----------\n",
    ),
    Case(
        "state machine with dict of functions",
        """
def start(x):
    return 'mid' if x > 0 else 'end'
handlers = {'start': start, 'mid': lambda x: 'end'}
state = 'start'
while state != 'end':
    print(state)
    state = handlers[state](1)
""",
        "start\nmid\n",
    ),
)
