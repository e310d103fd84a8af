"""What the commands of `rlm ontology` have in common: a SOURCE, its views, and names of terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rlm.cli import output
from rlm.cli.command import Decorator, lang_option, with_options
from rlm.cli.ontology_query import SOURCE, open_engine
from rlm.cli.session import Session
from rlm.errors import NotFound, OntologyError

if TYPE_CHECKING:
    from rlm.ontology.views.views import Views

LANG = lang_option("The language of labels, where there are several: en, de, …")
ASKED: Decorator = with_options((SOURCE, LANG))


@contextmanager
def open_views(session: Session, given: Mapping[str, Any]) -> Iterator[Views]:
    """The views over the SOURCE that the options of a command name."""
    from rlm.ontology.labels import missing_language
    from rlm.ontology.views.views import Views

    lang = given["lang"]
    with open_engine(session, given["source"], given["format_"]) as engine:
        views = Views(engine, lang=lang)
        if views.meta.sampled:
            session.notify(f"{given['source']} is an endpoint: counts and lists come from samples")
        elif note := missing_language(views.meta.languages, lang):
            session.notify(note)
        with output.waiting("asking"):
            yield views


def resolve_name(views: Views, name: str, *, predicate: bool = False) -> str:
    """The <IRI> behind a name. Raises NotFound for a well-formed name that nothing has."""
    from rlm.ontology.views.resolve import resolve, resolve_property

    find = resolve_property if predicate else resolve
    try:
        return f"<{find(views.engine, views.meta, name)}>"
    except OntologyError as exc:
        if type(exc) is OntologyError and _is_well_formed(views, name):
            raise NotFound(str(exc).replace("search_entity(…)", "`rlm ontology search`")) from exc
        raise


def _is_well_formed(views: Views, name: str) -> bool:
    """Whether a name is an IRI, a name with a prefix that is bound, or words that fit nothing."""
    from rlm.ontology.views.resolve import find_named

    if re.search("[:<>]", name):
        with suppress(OntologyError):
            return bool(views.meta.prefixes.expand(name))
        return False
    return bool(name.strip()) and not find_named(views.engine, views.meta, name.strip())
