"""Which format a file is in, and what is kept from the parser."""

from __future__ import annotations

import contextlib
import gzip
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import NotRDF, OntologyError
from rlm.ontology.engine import safe_input
from rlm.ontology.engine.formats import detect, find_format, sniff
from rlm.ontology.engine.safe_input import SafeReader, check_jsonld, check_prolog
from rlm.ontology.source import open_engine

RDF_NS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML = (
    f'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="{RDF_NS}" xmlns:e="http://e/"><e:C'
    ' rdf:about="http://e/a"/></rdf:RDF>'
)
TEXTS = {
    "turtle": '@prefix e: <http://e/> .\ne:a a e:C ; e:p "a { b" .\n',
    "n-triples": '# x\n<http://e/a> <http://e/p> "c \\" d"@en .\n_:x <http://e/p> <http://e/b> .\n',
    "n-quads": (
        "<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> <http://e/p> _:b <http://e/g> .\n"
    ),
    "trig": "@prefix e: <http://e/> .\ne:g { e:a a e:C }\n",
    "rdf-xml": XML,
    "json-ld": '{"@context": {"p": "http://e/p"}, "@id": "http://e/a", "p": "x"}',
}
EXTENSIONS = {
    ".ttl": "turtle", ".nt": "n-triples", ".nq": "n-quads", ".trig": "trig", ".rdf": "rdf-xml", ".xml": "rdf-xml",
    ".owl": "rdf-xml", ".jsonld": "json-ld", ".json": "json-ld",
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_extension_names_the_format(extension, packed, tmp_path):
    data = TEXTS[EXTENSIONS[extension]].encode()
    path = tmp_path / f"my.data{extension.upper()}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(data) if packed else data)
    found = detect(path)
    assert (found.format, found.gzipped, found.notes) == (EXTENSIONS[extension], packed, ())


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("name", ["noextension", "x.txt", "x.dat.gz"])
def test_content_tells_the_format_when_the_extension_does_not(format, name, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[format], "utf-8")
    assert detect(path).format == format


@pytest.mark.parametrize(
    ("name", "holds", "note"),
    [
        ("x.rdf", "turtle", "x.rdf is named like RDF/XML but holds Turtle: read as Turtle"),
        ("x.owl", "json-ld", "holds JSON-LD"),
        ("x.ttl", "rdf-xml", "holds RDF/XML"),
        ("x.ttl", "trig", "holds TriG"),
        ("x.nt", "n-quads", "holds N-Quads"),
        ("x.nt", "turtle", "holds Turtle"),
        ("x.json", "turtle", "holds Turtle"),
    ],
)
def test_a_wrong_extension_is_noted_and_the_content_believed(name, holds, note, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[holds], "utf-8")
    found = detect(path)
    assert found.format == holds and note in found.notes[0]


@pytest.mark.parametrize(
    ("name", "holds"), [("x.ttl", "n-triples"), ("x.trig", "turtle"), ("x.nq", "n-triples")]
)
def test_an_extension_whose_parser_reads_it_is_not_doubted(name, holds, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[holds], "utf-8")
    found = detect(path)
    assert found.format == EXTENSIONS[path.suffix] and not found.notes


def test_one_long_line_does_not_make_quads_turtle(tmp_path):
    path = tmp_path / "x.nq"
    path.write_text(f'<http://e/a> <http://e/p> "{"y" * 100_000}" <http://e/g> .\n', "utf-8")
    assert detect(path).format == "n-quads"


def test_a_format_that_is_given_is_believed(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(TEXTS["turtle"], "utf-8")
    assert detect(path, "ttl").format == "turtle"
    assert [find_format(name) for name in ("Turtle", "RDF/XML", ".owl", "JSON-LD", "NT")] == [
        "turtle", "rdf-xml", "rdf-xml", "json-ld", "n-triples",
    ]  # fmt: skip
    with pytest.raises(OntologyError, match="no RDF format 'yaml'; known: turtle"):
        detect(path, "yaml")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.ttl", b"", "0 bytes"),
        ("x.ttl", b" \n\t\n", "nothing in it but blanks"),
        ("x.ttl", b"<!DOCTYPE html>\n<html><body>404</body></html>", "HTML page"),
        (
            "x.rdf",
            b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD" "http://w/x.dtd"><html>',
            "HTML page",
        ),
        ("x.owl", b"Prefix: : <http://e/>\nOntology: <http://e/>", "Manchester"),
        (
            "x.xml",
            b'<?xml version="1.0"?><catalog><book/></catalog>',
            "XML with the root <catalog>",
        ),
        ("x.zip", b"PK\x03\x04rest", "a zip archive"),
        ("x.ttl", TEXTS["turtle"].encode("utf-16"), "UTF-16"),
        ("x.ttl", TEXTS["turtle"].encode("utf-16-le"), "binary file, or text in UTF-16"),
        ("x.ttl.gz", b"\x1f\x8b\x08\x00", "ends too early"),
        ("x.ttl.gz", gzip.compress(b"", mtime=0), "nothing in the gzip file"),
        ("x.ttl.gz", b"\x1f\x8b\xff\xff damaged", "damaged"),
        ("notes.txt", b"Dear diary, today I read about RDF.", "no RDF that is known here"),
        ("x.csv", b"a,b,c\n1,2,3\n", "no RDF that is known here"),
    ],
)
def test_what_is_no_rdf_is_named(name, data, said, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(NotRDF, match=name) as caught:
        detect(path)
    assert said in str(caught.value)


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(OntologyError, match="there is no file"):
        detect(tmp_path / "none.ttl")
    with pytest.raises(OntologyError, match="is a folder"):
        detect(tmp_path)
    os.mkfifo(tmp_path / "pipe.ttl")
    with pytest.raises(OntologyError, match="no regular file"):
        detect(tmp_path / "pipe.ttl")
    with pytest.raises(OntologyError, match="there is no file"):
        detect("a\0b.ttl")


@given(
    st.text(
        alphabet=st.sampled_from("<>{}[]\"'\\@#.:;, \n\tabPrefixOntology!?-/_=&%"), max_size=400
    )
)
def test_any_text_is_told_or_not_but_never_fails(text):
    with contextlib.suppress(NotRDF):
        assert sniff(text) in (None, *TEXTS)


@pytest.mark.parametrize(
    "start",
    ["<!DOCTYPE [", "<!--", '"', '"""', "<", "_:a ", "Prefix(", "[", "<a> <b> _:", "{", "#"],
)
def test_long_odd_text_is_sniffed_at_once(start):
    """A pattern that goes over the text again and again would take minutes here."""
    try:
        found = sniff((start * 70_000)[:65_536])
    except NotRDF as exc:
        assert str(exc)
    else:
        assert found is None or isinstance(found, str)


# -- reading


@given(
    st.binary(max_size=3000), st.lists(st.integers(1, 700), min_size=1, max_size=8), st.booleans()
)
def test_a_reader_gives_the_files_bytes_whatever_is_asked_for(data, sizes, packed):
    raw = gzip.compress(data) if packed else data
    reader = SafeReader(io.BytesIO(raw), "turtle", gzipped=packed)
    got, turn = b"", 0
    while part := reader.read(sizes[turn % len(sizes)]):
        got, turn = got + part, turn + 1
    assert got == data.removeprefix(b"\xef\xbb\xbf")
    assert reader.finish() == safe_input.sha256(raw).hexdigest()


def test_the_hash_is_over_the_whole_file_even_if_the_parser_stops():
    data = b"x" * 500_000
    reader = SafeReader(io.BytesIO(data), "turtle")
    reader.read(10)
    assert reader.finish() == safe_input.sha256(data).hexdigest()


def _read(data: bytes, format: str, *, packed: bool = False) -> bytes:
    return SafeReader(io.BytesIO(data), format, gzipped=packed).read()


@pytest.mark.parametrize("cut", [1, 8, 40, 300])
def test_a_gzip_file_that_is_cut_is_told(cut):
    packed = gzip.compress(os.urandom(200_000))
    with pytest.raises(NotRDF, match="ends too early"):
        _read(packed[:-cut], "turtle", packed=True)


def test_a_gzip_file_with_a_wrong_byte_is_told():
    packed = bytearray(gzip.compress(TEXTS["turtle"].encode() * 1000))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(NotRDF, match=r"gzip file is damaged|ends too early"):
        _read(bytes(packed), "turtle", packed=True)


def test_a_gzip_bomb_is_refused_before_it_is_unpacked():
    bomb = gzip.compress(b"\n" * (40 << 20))
    reader = SafeReader(io.BytesIO(bomb), "turtle", gzipped=True)
    read = 0
    with pytest.raises(NotRDF, match="more than 250 times its size"):
        while part := reader.read(1 << 16):
            read += len(part)
    assert read < 30 << 20


def test_more_than_the_largest_file_is_refused(monkeypatch):
    monkeypatch.setattr(safe_input, "MAX_BYTES", 1000)
    with pytest.raises(NotRDF, match="GiB in it"):
        _read(b"x" * 2000, "turtle")


SIMPLE = (
    '<!DOCTYPE rdf:RDF [\n  <!-- x -->\n  <!ENTITY owl "http://www.w3.org/2002/07/owl#" >\n '
    " <!ENTITY e 'http://e/'>\n]>\n"
)


def _with_dtd(dtd: str) -> bytes:
    return XML.replace("<rdf:RDF", dtd + "<rdf:RDF", 1).encode()


def test_plain_entities_of_an_owl_file_are_allowed():
    data = _with_dtd(SIMPLE)
    assert data[check_prolog(data) :].strip().startswith(b"<rdf:RDF")
    assert _read(data, "rdf-xml") == data
    assert check_prolog(XML.encode()) == XML.index("<rdf:RDF")
    assert _read(b"\xef\xbb\xbf" + XML.encode(), "rdf-xml").endswith(XML.encode())


def test_a_prefix_that_an_entity_stands_for_is_kept(tmp_path):
    """The parser drops it, and names were shown under one that was made up."""
    dtd = f'<!DOCTYPE r [ <!ENTITY rdf "{RDF_NS}"> <!ENTITY zz "http://e/things/"> ]>'
    root = '<rdf:RDF xmlns:rdf="&rdf;" xmlns:zz="&zz;" xmlns:in="http://e/'
    path = tmp_path / "boats.rdf"
    path.write_text(f'{dtd}{root}in/"><zz:Boat rdf:about="&zz;a" xmlns:b="http://b/"/></rdf:RDF>')
    with open_engine(path) as engine:
        assert engine.prefixes["zz"] == "http://e/things/"
        assert "b" not in engine.prefixes
        assert engine.meta().curie("http://e/things/Boat") == "zz:Boat"


@pytest.mark.parametrize(
    "dtd",
    [
        '<!DOCTYPE r SYSTEM "http://127.0.0.1/x.dtd">',
        '<!DOCTYPE r PUBLIC "a" "file:///etc/passwd">',
        '<!DOCTYPE r SYSTEM "x" [ <!ENTITY a "b"> ]>',
        '<!DOCTYPE r [ <!ENTITY a SYSTEM "file:///etc/passwd"> ]>',
        '<!DOCTYPE r [ <!ENTITY % a "b"> %a; ]>',
        '<!DOCTYPE r [ <!ENTITY a "ha"> <!ENTITY b "&a;&a;&a;"> ]>',
        '<!DOCTYPE r [ <!ENTITY a "&#38;b;"> ]>',
        "<!DOCTYPE r [ <!ELEMENT r ANY> ]>",
        '<!DOCTYPE r [ <!ATTLIST r a CDATA "x"> ]>',
        '<!doctype r [ <!entity a "&b;"> ]>',
        "<!DOCTYPE r [" + "".join(f'<!ENTITY a{n} "x">' for n in range(101)) + "]>",
        f'<!DOCTYPE r [ <!ENTITY a "{"x" * 257}"> ]>',
        '<!DOCTYPE r [ <!ENTITY a "b">',
        '<!DOCTYPE r [ ]><!DOCTYPE r [ <!ENTITY a "&b;"> ]>',
        "<!-- x --><?pi y?>" + '<!DOCTYPE r [ <!ENTITY a "&b;"> ]>',
    ],
)
def test_any_other_dtd_is_refused(dtd):
    with pytest.raises(NotRDF, match="DTD"):
        _read(_with_dtd(dtd), "rdf-xml")


PIECE = 65_536
"""What a reader reads at once."""


@pytest.mark.parametrize(
    "start",
    [
        300,
        PIECE - 5,
        (1 << 20) - 200,
        *((1 << 20) + PIECE - cut for cut in range(10)),
        (1 << 20) - 3,
        3 << 20,
    ],
)
def test_a_dtd_in_the_middle_is_refused_wherever_it_lies(start):
    filled = XML.replace("</rdf:RDF>", "").ljust(start)
    data = (filled + '<!DocType x [ <!ENTITY q "zzz"> ]></rdf:RDF>').encode()
    assert data.index(b"<!DocType") == start
    reader = SafeReader(io.BytesIO(data), "rdf-xml")
    got = b""
    with pytest.raises(NotRDF, match="in the middle of the document"):
        while part := reader.read(2048):
            got += part
    assert b"<!DocType" not in got, "the parser saw it"


def test_a_dtd_cut_at_every_border_of_a_piece_is_refused():
    border = (1 << 20) + PIECE
    data = XML.replace("</rdf:RDF>", "").ljust(border - 4) + "<!DOCTYPE x ["
    data = data.ljust(border + PIECE - 4) + '<!ENTITY q "zzz"> ]></rdf:RDF>'
    with pytest.raises(NotRDF, match="in the middle of the document"):
        _read(data.encode(), "rdf-xml")


def test_a_dtd_after_a_very_long_prolog_is_refused():
    with pytest.raises(NotRDF, match="DTD"):
        _read(
            b'<?xml version="1.0"?>' + b"<!-- x -->" * 110_000 + _with_dtd(SIMPLE)[21:], "rdf-xml"
        )


@pytest.mark.parametrize(
    "text",
    [
        '{"@context": "http://127.0.0.1:9/c", "@id": "http://e/a"}',
        '{"@context": [{"p": "http://e/"}, "http://127.0.0.1:9/c"]}',
        '{"\\u0040context": "http://127.0.0.1:9/c"}',
        '{"@context": "http://127.0.0.1:9/c", "@context": {}}',
        '[{"a": {"b": [{"@context": "c.jsonld"}]}}]',
        '{"@context": {"p": {"@id": "http://e/p", "@context": "http://127.0.0.1:9/c"}}}',
        '{"@context": {"@import": "http://127.0.0.1:9/c"}}',
    ],
)
def test_a_context_that_would_be_fetched_is_refused(text):
    with pytest.raises(NotRDF, match="never is: put the context itself"):
        check_jsonld(text.encode())


def test_json_that_is_none_is_told_with_its_line():
    with pytest.raises(NotRDF, match="no JSON") as caught:
        check_jsonld(b'{\n"a": }')
    assert caught.value.line == 2
    with pytest.raises(NotRDF, match="nested too deep"):
        check_jsonld(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
    with pytest.raises(NotRDF, match="UTF-8"):
        check_jsonld(b'{"a": "\xff\xfe\xfd"}')
    check_jsonld(TEXTS["json-ld"].encode())
