"""A file that was cut off is never read as a whole one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rlm.errors import NotRDF
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import EngineLimits

SPACES = (
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.test/"'
    ' xmlns:owl="http://www.w3.org/2002/07/owl#"'
)
THINGS = """
  <owl:Class rdf:about="http://e.test/A"/>
  <e:A rdf:about="http://e.test/a"><e:p>one</e:p>
    <e:q rdf:parseType="Literal"><b>x</b></e:q></e:A>
"""
WHOLE = {
    "plain": f"<rdf:RDF {SPACES}>{THINGS}</rdf:RDF>",
    "a comment behind it": f"<rdf:RDF {SPACES}>{THINGS}</rdf:RDF>\n<!-- OWL API 4.5-x -->\n",
    "a long comment": f"<rdf:RDF {SPACES}>{THINGS}</rdf:RDF><!-- {'x' * 3_000} -->",
    "entities": f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [ <!ENTITY e "http://e.test/"> ]>\n'
    f"<!-- x --><rdf:RDF {SPACES}>{THINGS}</rdf:RDF >",
    "one thing is the root": f"<e:A {SPACES}><e:p><e:A><e:q>x</e:q></e:A></e:p></e:A>",
    "an empty element is the root": f'<e:A {SPACES} rdf:about="http://e.test/a"/>',
    "its root within": f'<rdf:RDF {SPACES}><e:A><e:q rdf:parseType="Literal"><rdf:RDF/></e:q></e:A></rdf:RDF>',
    "not quite well-formed": f"<rdf:RDF {SPACES}><!-- a -- b -->{THINGS}</rdf:RDF>",
    "and with a long comment": f"<rdf:RDF {SPACES}><!-- a -- b -->{THINGS}</rdf:RDF><!-- {'x' * 3_000} -->",
    "its end in a comment": f"<rdf:RDF {SPACES}>{THINGS}<!-- </rdf:RDF>{'<?a?>' * 40} --></rdf:RDF>",
}  # fmt: skip


LIMITS = EngineLimits(load_timeout_s=10)


def triples(folder: Path, data: bytes, limits: EngineLimits = LIMITS) -> int:
    path = folder / ("x.rdf.gz" if data.startswith(b"\x1f\x8b") else "x.rdf")
    path.write_bytes(data)
    with LocalEngine(path, format="rdf-xml", cache_dir=folder / "cache", limits=limits) as engine:
        return engine.triples


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_document_is_read(tmp_path: Path, name: str) -> None:
    assert triples(tmp_path, WHOLE[name].encode()) > 0


CUTS = (
    ("plain", "<e:p>one"),
    ("plain", "</e:p>"),
    ("plain", "</e:A>\n"),
    ("a comment behind it", '<owl:Class rdf:about="http://e.test/A"/>'),
    ("one thing is the root", "</e:q></e:A>"),
    ("its root within", "<rdf:RDF/>"),
    ("its end in a comment", "<?a?> -->"),
    ("not quite well-formed", "</b>"),
)


@pytest.mark.parametrize(("name", "last"), CUTS)
def test_a_document_that_was_cut_off_is_refused_with_its_last_line(
    tmp_path: Path, name: str, last: str
) -> None:
    text = WHOLE[name].partition(last)[0] + last
    with pytest.raises(NotRDF, match="cut off") as caught:
        triples(tmp_path, text.encode())
    assert caught.value.line == text.count("\n") + 1


@pytest.mark.parametrize("name", ["windows-1252", "no-such"])
def test_a_document_in_another_encoding_is_refused_for_that(tmp_path: Path, name: str) -> None:
    text = f"<?xml version='1.0' encoding='{name}'?>{WHOLE['plain']}"
    with pytest.raises(NotRDF, match="Only UTF-8"):
        triples(tmp_path, text.encode())


def test_no_cut_is_taken_for_the_whole(tmp_path: Path) -> None:
    text = WHOLE["plain"]
    start = text.index(">") + 1
    for end in range(start, len(text), 7):
        with pytest.raises(NotRDF):
            triples(tmp_path, text[:end].encode())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("memory_triples", [1_000_000, 10])
def test_a_long_one_is_judged_from_memory_and_from_a_stream(
    tmp_path: Path, memory_triples: int, packed: bool
) -> None:
    """The root's name lies across the borders of what is read at once."""
    limits = EngineLimits(memory_triples=memory_triples)
    things = "".join(f'<e:A rdf:about="http://e.test/{n}"/>\n' for n in range(32_000))
    whole = f"<rdf:RDF {SPACES}>\n{things}</rdf:RDF>\n".encode()
    pack = gzip.compress if packed else bytes
    assert triples(tmp_path, pack(whole), limits) == 32_000
    with pytest.raises(NotRDF, match="cut off") as caught:
        triples(tmp_path, pack(whole[: -len(b"</rdf:RDF>\n")]), limits)
    assert caught.value.line == 32_002
