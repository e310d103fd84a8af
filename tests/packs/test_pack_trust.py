"""Who vouches for a pack: a trusted key, the package itself, or a person."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest
from pack_making import memories, memory, pack_bytes, seal, state, store, write_pack

from rlm.errors import PackError
from rlm.packs import export_pack, generate_key, import_pack, shipped_packs, sign_pack, verify_pack
from rlm.packs.signature import trusted_keys


@pytest.fixture
def key(tmp_path: Path) -> Path:
    generate_key(tmp_path / "alice.pem")
    return tmp_path / "alice.pem"


@pytest.fixture
def keys(tmp_path: Path, key: Path) -> Path:
    path = tmp_path / "trusted_keys"
    path.write_text("# people we know\n\n" + Path(f"{key}.pub").read_text())
    return path


@pytest.fixture
def nobody(tmp_path: Path) -> Path:
    return tmp_path / "no_such_file"


@pytest.mark.req("RB-14")
def test_an_unsigned_pack_is_quarantined_and_never_retrieved(tmp_path: Path, nobody: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(3))
    with store(tmp_path / "m.db") as db:
        report = import_pack(path, db, trusted_keys=nobody)
        assert (report.trust, report.signer) == ("quarantined", None)
        assert {item.trust for item in db.list_items()} == {"quarantined"}
        assert db.retrieve("Lesson number 1") == []
        assert db.stats()["quarantined"] == 3


@pytest.mark.req("RB-10")
def test_quarantined_memories_never_ship(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(3))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db)
        with pytest.raises(PackError, match="no memory is fit to share: the store has none"):
            export_pack(db, tmp_path / "q.jsonl", threshold=0)
    assert not list(tmp_path.glob("q*"))


@pytest.mark.req("RB-14")
def test_a_person_can_vouch_and_so_lift_the_quarantine(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(3))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db)
        db.update(memories(1)[0].memory_id, trust="quarantined", tags=["seen"])
        report = import_pack(path, db, trust=True)
        assert (report.added, report.trust) == (3, "trusted")
        assert {item.trust for item in db.list_items()} == {"trusted"}
        assert db.retrieve("Lesson number 1", 1)[0].item.title == "Lesson number 1"


@pytest.mark.req("RB-14")
def test_vouching_does_not_lift_what_the_gate_quarantined(tmp_path: Path) -> None:
    recalled = memory(content="## Relevant Prior Experience\n- told before")
    path = write_pack(tmp_path / "p.jsonl", [recalled])
    with store(tmp_path / "m.db") as db:
        import_pack(path, db, trust=True)
        assert db.list_items()[0].trust == "quarantined"


@pytest.mark.req("RB-14")
def test_signed_by_a_trusted_key(tmp_path: Path, key: Path, keys: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    sign_pack(path, key)
    with store(tmp_path / "m.db") as db:
        report = import_pack(path, db, trusted_keys=keys)
        assert (report.trust, report.signer) == ("trusted", "alice")
        assert db.retrieve("Lesson number 1")
    assert verify_pack(path, trusted_keys=keys).signer == "alice"


@pytest.mark.req("RB-14")
def test_an_export_can_be_signed_at_once_and_again_alike(
    tmp_path: Path, key: Path, keys: Path
) -> None:
    with store(tmp_path / "m.db") as db:
        db.add_many(memories(2))
        export_pack(db, tmp_path / "p.jsonl", key=key)
        before = (tmp_path / "p.manifest.json").read_bytes()
        export_pack(db, tmp_path / "p.jsonl", key=key)
    assert (tmp_path / "p.manifest.json").read_bytes() == before
    assert verify_pack(tmp_path / "p.jsonl", trusted_keys=keys).trust == "trusted"


@pytest.mark.req("RB-14")
def test_signed_by_a_stranger_is_quarantined(tmp_path: Path, keys: Path) -> None:
    stranger = generate_key(tmp_path / "mallory.pem")
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    sign_pack(path, tmp_path / "mallory.pem")
    with store(tmp_path / "m.db") as db:
        report = import_pack(path, db, trusted_keys=keys)
    assert (report.trust, report.signer) == ("quarantined", f"unknown key {stranger}")


def _change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.req("RB-14")
@pytest.mark.parametrize("trust", [False, True], ids=["", "vouched"])
@pytest.mark.parametrize(
    "what", ["lines", "name", "kind", "signature", "short", "algorithm", "key swapped", "spelling"]
)
def test_a_tampered_signature_is_an_error_and_never_a_downgrade(
    tmp_path: Path, key: Path, keys: Path, what: str, trust: bool
) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    signature = dict(sign_pack(path, key).signature or {})
    beside = tmp_path / "p.manifest.json"
    made = base64.b64decode(signature["signature"])
    if what == "lines":
        path.write_bytes(pack_bytes(memories(3)))
        seal(path, signature=signature)
    elif what in ("name", "kind"):
        _change(beside, **{what: "other"})
    else:
        stranger = generate_key(tmp_path / "mallory.pem")
        swapped = {
            "signature": {
                "signature": base64.b64encode(made[:-1] + bytes([made[-1] ^ 1])).decode()
            },
            "short": {"signature": base64.b64encode(made[:-1]).decode()},
            "algorithm": {"algorithm": "none"},
            "key swapped": {"public_key": stranger},
            "spelling": {"signature": signature["signature"].rstrip("=")},
        }[what]
        _change(beside, signature={**signature, **swapped})
    with store(tmp_path / "m.db") as db:
        before = state(db)
        with pytest.raises(PackError):
            import_pack(path, db, trusted_keys=keys, trust=trust)
        assert state(db) == before


@pytest.mark.req("RB-13", "RB-14")
def test_a_shipped_pack_is_trusted_for_its_bytes_not_its_name(tmp_path: Path) -> None:
    shipped = shipped_packs()["core_v1"].read_bytes()
    copy = tmp_path / "renamed.jsonl"
    copy.write_bytes(shipped)
    fake = tmp_path / "core_v1.jsonl"
    fake.write_bytes(pack_bytes(memories(2), "core_v1"))
    with store(tmp_path / "m.db") as db:
        assert import_pack(fake, db).trust == "quarantined"
        assert import_pack(copy, db).trust == "trusted"
    with store(tmp_path / "n.db") as db:
        assert import_pack("core_v1", db, trust_shipped=False).trust == "quarantined"
        report = import_pack("core_v1", db)
        assert (report.trust, report.signer, report.added) == ("trusted", "rlm", 7)


@pytest.mark.req("RB-14")
def test_a_private_key_is_private_and_never_overwritten(tmp_path: Path, key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(PackError, match="already"):
        generate_key(key)
    Path(f"{key}.pub").unlink()
    with pytest.raises(PackError, match="already"):
        generate_key(key)
    assert key.read_bytes() == before
    assert "PRIVATE" not in Path(tmp_path / "alice.pem").with_suffix(".pem.pub").name


@pytest.mark.req("RB-14")
@pytest.mark.parametrize("text", ["alice\n", "alice bm90IGEga2V5\n", "alice x y\n", "alice !!!!\n"])
def test_a_bad_list_of_keys_names_its_line(tmp_path: Path, key: Path, text: str) -> None:
    path = tmp_path / "keys"
    path.write_text("# ours\n" + text)
    pack = write_pack(tmp_path / "p.jsonl", memories(1))
    sign_pack(pack, key)
    with store(tmp_path / "m.db") as db, pytest.raises(PackError) as caught:
        import_pack(pack, db, trusted_keys=path)
    assert caught.value.line == 2


def test_a_key_is_not_named_by_a_secret(tmp_path: Path, keys: Path) -> None:
    public = keys.read_text().split()[-1]
    keys.write_text(f"ghp_{'aB3dE6gH9jK2' * 3} {public}\n")
    with pytest.raises(PackError, match="the name of the key looks like a secret") as caught:
        trusted_keys(keys)
    assert caught.value.line == 1 and "ghp_" not in str(caught.value)


@pytest.mark.req("RB-14")
def test_the_settings_name_the_list_of_keys(
    tmp_path: Path, key: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLM_TRUSTED_KEYS", str(keys))
    path = write_pack(tmp_path / "p.jsonl", memories(1))
    sign_pack(path, key)
    assert verify_pack(path).trust == "trusted"


@pytest.mark.req("RB-14")
def test_signing_needs_a_sound_pack_and_a_fitting_key(tmp_path: Path, key: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(1), manifest=False)
    with pytest.raises(PackError, match="no manifest"):
        sign_pack(path, key)
    seal(path)
    (tmp_path / "junk.pem").write_text("junk")
    with pytest.raises(PackError, match="PEM form: `rlm pack keygen FILE` makes one"):
        sign_pack(path, tmp_path / "junk.pem")
    path.write_bytes(b"{}")
    seal(path)
    with pytest.raises(PackError, match="no newline"):
        sign_pack(path, key)
