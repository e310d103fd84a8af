"""`rlm token`, and `rlm mcp` where its extra is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_running import Run

from rlm import open_store
from rlm.mcp_server import check_token
from rlm.store.secrets import scrub


@pytest.mark.req("CX-03")
def test_a_token_is_printed_once_and_kept_as_a_hash(rlm: Run, db: str) -> None:
    made = rlm("token", "add", "laptop", "--project", "shop", "--read-only", "--db", db)
    token = made.out.strip()
    assert made.code == 0 and token.startswith("rlm_tok_") and "not shown again" in made.err
    secret = token[-43:]  # it may hold the mark that stands before it
    files = [path for path in Path(db).parent.glob("store.db*") if path.is_file()]
    assert files and not any(secret.encode() in path.read_bytes() for path in files)
    listed = rlm("token", "list", "--project", "shop", "--db", db, "--json")
    assert secret not in listed.out and "digest" not in listed.out
    (row,) = listed.json["tokens"]
    assert (row["name"], row["read_only"], row["project"]) == ("laptop", True, "shop")
    assert "laptop\tread" in rlm("token", "list", "--project", "shop", "--db", db).out
    with open_store(db, embedder="none") as store:
        found = check_token(store, token)
        assert found is not None and found.tenant.project == "shop" and found.read_only
        for wrong in ("", token[:-1], token + "x", token.upper(), f" {token}", f"{token}\n",
                      token[:25] + "A" * 43, "rlm_tok_" + "é" * 16 + "_" + secret):  # fmt: skip
            assert check_token(store, wrong) is None


def test_tokens_of_other_projects_are_neither_listed_nor_revoked(rlm: Run, db: str) -> None:
    rlm("token", "add", "laptop", "--project", "shop", "--db", db)
    assert rlm("token", "list", "--project", "blog", "--db", db, "--json").json == {"tokens": []}
    gone = rlm("token", "revoke", "laptop", "--project", "blog", "--db", db)
    assert gone.code == 1 and "no token 'laptop' in project blog" in gone.err
    assert rlm("token", "add", "laptop", "--project", "shop", "--db", db).code == 2
    assert rlm("token", "revoke", "laptop", "--project", "shop", "--db", db).code == 0
    assert rlm("token", "list", "--project", "shop", "--db", db, "--json").json == {"tokens": []}


def test_a_token_in_a_text_is_scrubbed(rlm: Run, db: str) -> None:
    token = rlm("token", "add", "laptop", "--db", db, "--json").json["token"]
    text, _ = scrub(f"export RLM_TOKEN={token} and go on")
    assert token not in text and token[-20:] not in text and "go on" in text


def test_without_the_extra_the_install_line_is_printed(
    rlm: Run, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    told = rlm("mcp", "--db", db)
    assert told.code == 2 and "`pip install 'mcp>=2.3,<2.4'`" in told.err and told.out == ""


def test_what_cannot_be_served_is_said_at_the_start(rlm: Run, db: str, tmp_path: Path) -> None:
    for line, said in (
        (("--toolsets", "ontolgy", "--http", "127.0.0.1:0"), "known are ontology"),
        (("--ontology", "no.ttl", "--http", "127.0.0.1:0"), "no such file"),
        (("--folder", "nowhere", "--http", "127.0.0.1:0"), "no such folder"),
        (("--allow-host", "x"), "--allow-host is for --http"),
        (("--http", "127.0.0.1"), "write HOST:PORT"),
    ):
        told = rlm("mcp", "--db", db, *line)
        assert told.code == 2 and said in told.err
