"""Cycles in a hierarchy. A worker imports this: nothing but the language itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def find_cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The sets of two or more nodes that all lead to each other, each sorted (Tarjan's strongly
    connected components, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for start in sorted(edges):
        todo = [(start, iter(sorted(edges.get(start, ()))))] if start not in order else []
        while todo:
            node, ends = todo[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                stack.append(node)
                on_stack.add(node)
            fresh = next((end for end in ends if end not in order or end in on_stack), None)
            if fresh is None:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[node])
                if low[node] == order[node]:
                    ring = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    on_stack.difference_update(ring)
                    if len(ring) > 1:
                        found.append(sorted(ring))
            elif fresh not in order:
                todo.append((fresh, iter(sorted(edges.get(fresh, ())))))
            else:
                low[node] = min(low[node], order[fresh])
    return sorted(found)
