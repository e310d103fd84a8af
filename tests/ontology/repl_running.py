"""Code in the real REPL, with the tools of an ontology, written by a model that follows a script."""

from __future__ import annotations

from rlm.handles import Meter, Store
from rlm.llm import ScriptedClient
from rlm.loop import rlm_run
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.views.views import Views
from rlm.store.backend import MemoryBackend
from rlm.tools import sparql_tools, view_tools


def in_the_repl(
    engine: Engine, *lines: str, memory: MemoryBackend | None = None, views: Views | None = None
) -> str:
    """What the next prompt says of these lines; each is a block of its own, so that an error ends
    only itself."""
    blocks = "\n".join(f"```repl\n{line}\n```" for line in lines)
    client, meter = ScriptedClient([blocks, "FINAL(done)"]), Meter()
    with Store() as handles:
        box = sparql_tools(engine, handles, meter, memory=memory) | view_tools(
            views or Views(engine), meter
        )
        result = rlm_run(
            "What is there?",
            "An ontology behind tools.",
            client=client,
            store=handles,
            meter=meter,
            tools=box.functions,
            untimed=box.untimed,
        )
    assert result.converged and len(result.iterations[0].code_blocks) == len(lines)
    return str(client.calls[-1][-1]["content"])
