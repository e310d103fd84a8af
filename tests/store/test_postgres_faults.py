"""What a PostgreSQL store says when something is wrong, on a real server, and what it never says."""

from __future__ import annotations

import socket
import sys
import threading

import psycopg
import pytest

from postgres_server import DEBIAN, PostgresServer
from rlm.cli import main
from rlm.errors import (
    ConfigError,
    EngineUnfit,
    NotSupported,
    RLMError,
    SchemaTooNew,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    ValidationError,
)
from rlm.store.open import init_store, open_store, show_store
from rlm.store.postgres import migrations
from rlm.store.types import MemoryItem

ODD = "p@ss:w/o?r#d%41 'q\"\\ü=&;$(x)`"
ROLES = {"app": migrations.APP, "owner": migrations.OWNER}


def database(url):
    return url.split("?")[0].rpartition("/")[2]


@pytest.fixture
def url(postgres_server):
    return postgres_server.new_store()


def refused(url, error, match, **options):
    with pytest.raises(error, match=match) as caught:
        open_store(url, embedder="none", lock_timeout_s=0.3, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("postgresql://u:se%cret@host/db", "cannot be read.*percent-encoded"),
        ("postgresql://u:secret@host:port/db", "cannot be read"),
        ("postgresql://u:x/secret@host/db", "cannot be read.*percent-encoded"),
        ("postgresql://u:12/secret@host/db", "cannot be read.*percent-encoded"),
        ("postgresql://u:x@secret@host/db", "cannot be read.*percent-encoded"),
        ("postgresql://u:x\0secret@host/db", "cannot be read.*percent-encoded"),
        ("postgresql://127.0.0.1:1/db?password=x@secret", "Connection refused"),
        ("postgresql://u:x?secret@127.0.0.1:1/db", "Connection refused"),
        ("postgresql:u:secret@host/db", "this version knows"),
        ("postgresql:/u:secret@host/db", "this version knows"),
        ("postgresql://u:secret@/db?hots=x", "cannot be read"),
        ("postgresql://u:secret@127.0.0.1:1/db", "cannot be reached.*server runs"),
        ("postgresql://u:secret@127.0.0.1:1,127.0.0.1:2/db", "port 1 failed.*port 2 failed"),
        ("postgresql://u:secret@nowhere.invalid/db", "cannot be reached"),
        ("postgresql://u:secret@/db?host=/nowhere", "cannot be reached"),
        ("postgrseql://u:secret@host/db", "this version knows"),
    ],
)
def test_a_wrong_url_is_told_without_its_password(url, match):
    with pytest.raises((ConfigError, StoreUnavailable), match=match) as caught:
        open_store(url, embedder="none")
    seen = [str(caught.value), repr(caught.value), show_store(url)]
    cause = caught.value.__cause__
    seen += [str(cause), repr(cause)] if cause else []
    assert not any("secret" in text or "se%cret" in text for text in seen)


def test_a_certificate_that_is_missing_is_told_whole():
    """libpq says what is wrong in one line, and what to do in the next."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak_tls():
            talk = listening.accept()[0]
            with talk:
                talk.recv(8)
                talk.sendall(b"S")  # yes, go on

        speaks = threading.Thread(target=speak_tls)
        speaks.start()
        url = f"postgresql://u@127.0.0.1:{listening.getsockname()[1]}/d"
        match = 'root certificate file "/nowhere" does not exist.*Either provide the file'
        refused(f"{url}?sslmode=verify-full&sslrootcert=/nowhere", StoreUnavailable, match)
        speaks.join()


def test_a_database_without_a_store_says_how_to_make_one(postgres_server):
    empty = postgres_server.new_database()
    postgres_server.new_store()  # makes the roles
    refused(postgres_server.url("nothing", "rlm_app"), StoreUnavailable, "does not exist")
    refused(postgres_server.url(empty, "rlm_app"), StoreError, "rlm store init URL")


@pytest.mark.parametrize(
    ("role", "how", "why"),
    [
        ("postgres", "", "superuser or has BYPASSRLS"),
        ("passer", "LOGIN BYPASSRLS IN ROLE rlm_app", "superuser or has BYPASSRLS"),
        ("member", "LOGIN IN ROLE rlm_owner", "owns the tables"),
        ("stranger", "LOGIN", "may not use the schema"),
    ],
)
def test_a_role_that_the_walls_do_not_bind_is_refused(url, postgres_server, role, how, why):
    if how:
        postgres_server.execute(f"CREATE ROLE {role} {how}")
    try:
        said = refused(postgres_server.url(database(url), role), StoreError, why)
        assert "rlm store init URL" in said
    finally:
        if how:
            postgres_server.execute(f"DROP ROLE {role}")


def test_another_programs_schema_is_left_alone(postgres_server):
    name = postgres_server.new_database()
    postgres_server.execute("CREATE SCHEMA rlm; CREATE TABLE rlm.theirs()", name)
    with pytest.raises(StoreCorrupt, match="not ours"):
        init_store(postgres_server.url(name), **ROLES)
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'rlm'::regnamespace"
    assert postgres_server.execute(tables, name) == [("theirs",)]


def test_a_newer_and_an_older_schema_are_refused(url, postgres_server):
    postgres_server.execute("UPDATE rlm.version SET number = 99", database(url))
    refused(url, SchemaTooNew, "schema 99")
    with pytest.raises(SchemaTooNew, match="not touched"):
        init_store(postgres_server.url(database(url)), **ROLES)
    postgres_server.execute("UPDATE rlm.version SET number = 0", database(url))
    refused(url, StoreError, "rlm store init URL")


def test_a_store_of_version_1_is_brought_up_to_date(postgres_server, monkeypatch):
    name = postgres_server.new_database()
    with monkeypatch.context() as former:
        former.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        former.setattr(migrations, "VERSION", 1)
        init_store(postgres_server.url(name), **ROLES)
    app = postgres_server.url(name, migrations.APP)
    refused(app, StoreError, "has schema 1.*rlm store init URL")
    ran = [init_store(postgres_server.url(name), **ROLES).migrations for _ in range(2)]
    assert ran == [migrations.VERSION - 1, 0]
    with open_store(app) as store:
        store.add(MemoryItem(title="Boil water", description="", content="1. fill the kettle"))
        assert store.retrieve("kettle")[0].item.title == "Boil water"


def test_an_old_server_is_refused(url, postgres_server, monkeypatch):
    monkeypatch.setattr(migrations, "MINIMUM_SERVER", 990_000)
    refused(url, EngineUnfit, "rlm needs 14 or newer")
    with pytest.raises(EngineUnfit):
        init_store(postgres_server.url(database(url)), **ROLES)


def test_a_server_that_takes_no_writes_is_read(url, postgres_server, make_item):
    with open_store(url) as store:
        kept = store.add(make_item())
    sql = f"ALTER DATABASE {database(url)} SET default_transaction_read_only = on"
    postgres_server.execute(sql)
    with open_store(url) as store:
        assert store.read_only and store.retrieve("class label")[0].item.memory_id == kept
        with pytest.raises(StoreReadOnly, match="read-only"):
            store.add(make_item("Other"))
    with pytest.raises(StoreReadOnly, match="takes no writes"):
        init_store(f"{postgres_server.url(database(url))}", **ROLES)


@pytest.mark.parametrize(
    ("code", "error", "match"),
    [
        ("53100", StoreFull, "no space left"),
        ("57014", StoreError, "took too long"),
        ("25006", StoreReadOnly, "primary"),
        ("23514", ValidationError, "refused a value"),
        ("42P01", StoreCorrupt, "rlm doctor"),
        ("XX000", StoreError, "our own"),
    ],
)
def test_errors_of_the_server_become_ours_and_nothing_is_half_made(
    url, postgres_server, make_item, code, error, match
):
    raises = f"BEGIN RAISE EXCEPTION 'our own' USING ERRCODE = '{code}'; END"
    postgres_server.execute(
        f"CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS $$ {raises} $$;"
        " CREATE TRIGGER stop AFTER INSERT ON rlm.recall_words EXECUTE FUNCTION public.stop()",
        database(url),
    )
    with open_store(url, embedder="none") as store:
        with pytest.raises(error, match=match) as caught:
            store.add(make_item())
        assert isinstance(caught.value, RLMError)
        assert store.list_items() == [] and store.stats()["memories"] == 0


@pytest.fixture(scope="module")
def guarded():
    """A server that asks for passwords."""
    from postgres_server import wheel_programs

    server = PostgresServer(wheel_programs(), authentication="scram-sha-256")
    yield server
    server.stop()


def test_a_password_may_hold_any_character_and_is_never_shown(guarded, make_item):
    admin = guarded.url("postgres")
    made = init_store(admin, **ROLES)
    assert made.password and made.password in made.url and made.password not in made.name
    with open_store(made.url, embedder="none") as store:
        store.add(make_item())
    assert init_store(admin, **ROLES).password is None, "a second time nothing is changed"
    with psycopg.connect(admin, autocommit=True) as raw:
        raw.execute(psycopg.sql.SQL("ALTER ROLE rlm_app PASSWORD {}").format(ODD))
    url = guarded.url("postgres", "rlm_app", ODD)
    with open_store(url, embedder="none") as store:
        assert len(store.list_items()) == 1
        shown = [repr(store), repr(store.db), str(store.stats()), str(store.check())]
        assert not any(ODD in text or url.split(":")[2].split("@")[0] in text for text in shown)
    for wrong in ("wrong", ""):
        refused(guarded.url("postgres", "rlm_app", wrong), StoreUnavailable, "password")


def test_the_url_to_use_has_nothing_of_who_made_the_store(guarded):
    place = f"host={guarded.folder}"
    url = f"postgresql:///postgres?user=postgres&{place}&password=admin&application_name=a@b"
    made = init_store(url, app="query_app", owner=migrations.OWNER)
    who = f"query_app:{made.password}"
    assert made.url == f"postgresql://{who}@/postgres?{place}&application_name=a@b"
    open_store(made.url, embedder="none").close()


def test_the_command_line_takes_a_url_everywhere(guarded, tmp_path, monkeypatch, capsys):
    with psycopg.connect(guarded.url("postgres"), autocommit=True) as raw:
        raw.execute("DROP DATABASE IF EXISTS cli")
        raw.execute("CREATE DATABASE cli")

    def rlm(*args, code=0):
        found = main(args)
        said = "".join(capsys.readouterr())
        assert found == code, said
        return said

    admin = guarded.url("cli")
    made = rlm("store", "init", admin, "--role", "cli_app")
    assert "has its password already" in rlm("store", "init", admin, "--role", "cli_app")
    url = made.splitlines()[0]
    password = url.split(":")[2].split("@")[0]
    monkeypatch.setenv("RLM_MEMORY_DB", url)
    rlm("memory", "add", "--title", "Restart the worker", "--description", "When it hangs",
        "--content", "1. stop it")  # fmt: skip
    assert "Restart the worker" in rlm("memory", "search", "worker hangs")
    told = rlm("doctor", "--json") + rlm("doctor") + rlm("memory", "stats")
    assert "row-level security" in told and "recall nothing" in told and password not in told
    assert "pg_dump" in rlm("backup", str(tmp_path / "copy"), code=2)
    assert "superuser" in rlm("memory", "list", "--db", admin, code=2)
    down = f"postgresql://u:{password}@127.0.0.1:1/db"
    assert password not in rlm("memory", "list", "--db", down, code=2)


def test_without_the_driver_the_install_line_is_printed(monkeypatch):
    for name in [
        name for name in sys.modules if name.startswith(("psycopg", "rlm.store.postgres"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install 'psycopg\[binary\]"):
        open_store("postgresql://u@h/d", embedder="none")


def test_a_lost_connection_is_replaced_and_reads_go_on(url, postgres_server, make_item):
    ends = (
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database(url)}'"
    )
    with open_store(url, embedder="none") as store:
        kept = store.add(make_item())
        postgres_server.execute(ends)
        assert store.get(kept) is not None
        postgres_server.execute(ends)
        assert store.add(make_item("Other"))
        with pytest.raises(StoreUnavailable) as caught, store.together():
            store.add(make_item("Third"))
            postgres_server.execute(ends)
            store.add(make_item("Fourth"))
        assert not caught.value.may_be_stored
        assert len(store.list_items()) == 2


@pytest.mark.skipif(not DEBIAN.exists(), reason="Debian's PostgreSQL 15 is not installed")
def test_a_server_without_pgvector_and_of_another_version_does(make_item):
    server = PostgresServer(DEBIAN)
    try:
        with open_store(server.new_store()) as store:
            kept = store.add(make_item())
            store.graph.create_node("fact", "Ships sail")
            assert store.retrieve("class label")[0].item.memory_id == kept
            assert store.graph.search("ships")[0].node.content == "Ships sail"
            assert store.stats()["engine"]["postgresql"].startswith("15")
            assert all(check.ok for check in store.check())
            with pytest.raises(NotSupported):
                store.backup("copy")
    finally:
        server.stop()
