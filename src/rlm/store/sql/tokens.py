"""The part of the backend that keeps who may speak to the store over HTTP.

A token belongs to the space of a project. Its secret is not stored, only the SHA-256 of it: who
reads the file cannot speak for anybody.
"""

from __future__ import annotations

from rlm import clock
from rlm.errors import NotFound, ValidationError
from rlm.store.sql.spaces import Part
from rlm.store.types import AccessToken
from rlm.store.values import admit_id, show

_READ = (
    "SELECT token_id, name, digest, read_only, org, team, project, created_at FROM tokens JOIN"
    " spaces USING (space_id)"
)


class Tokens(Part):
    """Bearer tokens, each bound to one project."""

    def add_token(self, token_id: str, name: str, digest: str, *, read_only: bool) -> AccessToken:
        name = admit_id(name, "name")
        with self.db.write() as connection:
            space, now = self.spaces.ensure("project"), clock.now_iso()
            if self._find_named(name):
                why = f"there is a token {name!r} already: choose another name, or revoke that one"
                raise ValidationError(why, field="name")
            row = (token_id, space, name, digest, int(read_only), now)
            connection.execute("INSERT INTO tokens VALUES (?,?,?,?,?,?)", row)
        tenant = self.tenant
        owner = (tenant.org, tenant.team, tenant.project)
        return AccessToken(token_id, name, digest, read_only, *owner, now)

    def tokens(self) -> list[AccessToken]:
        return self._read("space_id = ? ORDER BY created_at, name", self.spaces.find("project"))

    def find_token(self, token_id: str) -> AccessToken | None:
        return next(iter(self._read("token_id = ?", token_id)), None)

    def revoke_token(self, name_or_id: str) -> AccessToken:
        with self.db.write() as connection:
            found = self._find_named(name_or_id)
            if not found:
                why = f"no token {show(name_or_id)} in project {self.tenant.project}"
                raise NotFound(f"{why}: `rlm token list` shows those that there are")
            sql = "DELETE FROM tokens WHERE token_id = ? AND space_id = ?"
            connection.execute(sql, (found[0].token_id, self.spaces.find("project")))
        return found[0]

    def _find_named(self, name_or_id: str) -> list[AccessToken]:
        return [each for each in self.tokens() if name_or_id in (each.name, each.token_id)]

    def _read(self, where: str, value: str | int | None) -> list[AccessToken]:
        rows = self.db.rows(f"{_READ} WHERE {where}", (value,))
        return [AccessToken(row[0], row[1], row[2], bool(row[3]), *row[4:8]) for row in rows]
