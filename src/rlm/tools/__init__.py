"""What the REPL sees: functions that are bounded, run on the host, and return little.

Every cap is a named constant here. A docstring of a tool is a prompt: the model reads it.
"""

from rlm.learning.gates import RecalledTexts
from rlm.tools.ctx import ctx_tools
from rlm.tools.graph import graph_tools
from rlm.tools.learned import learned_tools
from rlm.tools.memory import memory_tools
from rlm.tools.notebook import MemStore, setup_ontology_context
from rlm.tools.sparql import sparql_tools
from rlm.tools.toolbox import Toolbox
from rlm.tools.views import view_tools

__all__ = [
    "MemStore",
    "RecalledTexts",
    "Toolbox",
    "ctx_tools",
    "graph_tools",
    "learned_tools",
    "memory_tools",
    "setup_ontology_context",
    "sparql_tools",
    "view_tools",
]
