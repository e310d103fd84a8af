"""Words that need no letter of their own: verbs of asking, words that are no names, words for the
ontology."""

from __future__ import annotations

_REQUESTS = """
list show give find tell get return print display provide identify fetch retrieve report write output collect
determine see present extract select state query compile enumerate dump compute calculate expand check browse trace
climb search lookup view say pull obtain grab look walk follow navigate go name mention
"""
REQUESTS = frozenset(_REQUESTS.split())
_NO_NAMES = """
you your yourself yours me my mine myself our ours them they he she him most least best worst nicest important why how
when where nobody somewhere anywhere make remove delete add create rename change update insert set merge drop move
replace convert translate compare sort draw export import save load run install write build fix edit clean recommend
suggest should good better favourite favorite than then because there here today poem joke story so very same
difference differences distinction common similarity similar siblings sibling inverse restrictions restriction average
two three four five several multiple exactly twice different disjoint equivalent new more less only together both up
down out up-to-date
"""
NO_NAMES = frozenset(_NO_NAMES.split())
"""Words that are no part of a name in small letters."""
_QUALITIES = """
functional symmetric asymmetric reflexive irreflexive inverse deprecated obsolete unused used duplicate missing custom
own core main key important relevant imported external standard common shared optional required mandatory basic numeric
boolean string numerical temporal simple complex similar related specific general abstract asserted anonymous named
blank orphan empty labelled labeled unlabelled undocumented sub super child parent invalid valid local global internal
"""
QUALITIES = frozenset(_QUALITIES.split())
"""What properties or individuals are like: in "functional properties" no class is named."""
_SCOPES = """
ontology ontologies vocabulary graph schema model dataset file hierarchy taxonomy thesaurus terminology kg document
standard specification tree tbox t-box
"""
SCOPES = frozenset(_SCOPES.split())
"""Words for where the question is asked of: nothing hangs on them."""
