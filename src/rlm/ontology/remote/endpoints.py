"""The endpoints that the config file names.

    [endpoints.museum]
    url = "https://data.example.org/sparql"
    auth = "bearer"        # the token: RLM_ENDPOINT_MUSEUM_TOKEN

Only named endpoints are asked, so that a model that writes queries cannot choose where they go.
"""

from __future__ import annotations

import base64
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlm import config
from rlm.config import EndpointSettings
from rlm.errors import ConfigError, OntologyError
from rlm.urls import Address, parse_url

if TYPE_CHECKING:
    from rlm.ontology.remote.engine import RemoteEngine


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint whose settings were checked. `secrets` are what no message may show."""

    settings: EndpointSettings
    address: Address
    authorization: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    access: str = ""
    """What to set in the environment when access is refused."""


def from_settings(given: EndpointSettings) -> Endpoint:
    """ConfigError for a URL that cannot be used, and for credentials missing or unsafe to send."""
    try:
        address = parse_url(given.url)
    except ConfigError as exc:
        raise ConfigError(f"endpoint {given.name!r}: {exc}") from exc
    authorization, secrets, access = _credentials(given)
    if authorization and address.scheme == "http" and not given.allow_private:
        raise ConfigError(
            f"endpoint {given.name!r}: over http:// anybody on the way could read the credentials:"
            " use https://"
        )
    return Endpoint(given, address, authorization, secrets, access)


def _credentials(given: EndpointSettings) -> tuple[str, tuple[str, ...], str]:
    if given.auth == "bearer":
        name = f"{given.variable}TOKEN"
        return f"Bearer {_usable(given.token, name)}", (given.token,), f"check {name}"
    if given.auth == "basic":
        user, password = f"{given.variable}USER", f"{given.variable}PASSWORD"
        if ":" in _usable(given.user, user):
            raise ConfigError(
                f"{user} holds a colon, which no user name of this kind of access can"
            )
        packed = base64.b64encode(
            f"{given.user}:{_usable(given.password, password)}".encode()
        ).decode("ascii")
        return f"Basic {packed}", (packed, given.password), f"check {user} and {password}"
    advice = (
        f'if it wants a token, set auth = "bearer" in [endpoints.{given.name}] and'
        f" {given.variable}TOKEN"
    )
    return "", (), advice


def _usable(secret: str, variable: str) -> str:
    if not secret:
        raise ConfigError(
            f"{variable} is not set: the endpoint wants it, and it is read from the environment"
            " only"
        )
    if not secret.isprintable() or (
        variable.endswith("TOKEN") and (not secret.isascii() or " " in secret)
    ):
        raise ConfigError(f"{variable} holds characters that it cannot have: copy it again")
    return secret


def find_endpoint(name: str, environ: Mapping[str, str] | None = None) -> Endpoint:
    """The endpoint of this name, or of this URL where the config has it. Raises OntologyError with
    a suggestion."""
    known = config.endpoints(environ)
    found = known.get(name) or next((one for one in known.values() if one.url == name), None)
    if found is not None:
        return from_settings(found)
    path = config.config_path(environ)
    if "://" in name:
        raise OntologyError(
            f'only endpoints of the config are asked: add [endpoints.NAME] with url = "…" to {path}'
        )
    near = difflib.get_close_matches(name, known, n=3) or sorted(known)[:5]
    hint = (
        f"known: {', '.join(near)}"
        if near
        else f'there are none: add [endpoints.{name[:40]}] with url = "…" to {path}'
    )
    raise OntologyError(f"no endpoint is called {name[:80]!r}; {hint}")


def open_endpoint(name: str, environ: Mapping[str, str] | None = None) -> RemoteEngine:
    """An engine that asks the endpoint of this name. Nothing is sent before the first query."""
    from rlm.ontology.remote.engine import RemoteEngine

    return RemoteEngine(find_endpoint(name, environ))
