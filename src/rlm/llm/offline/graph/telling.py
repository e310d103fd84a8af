"""The words of an answer over an ontology. Sent into the REPL as source text and run there, as the
functions of `repl`.

What was asked for stands in the first line; a notice about how the question was taken goes before
it. Terms come with their labels where the name does not say the same.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rlm.llm.offline.graph.repl import rows, words


def label_shown(name: str, label: str) -> str:
    """The label behind a name, in brackets; nothing where the name says the same, or the label
    looks like a name."""
    local = re.split(r"[/#:]", name.strip("<>").rstrip("/#"))[-1].replace("\\", "")
    label = " ".join(label.split())
    plain = label.isprintable() and not re.search(r"""[<>"`“”]|:\S""", label)
    if not plain or words(label).replace(" ", "") in ("", words(local).replace(" ", "")):
        return ""
    return f" ({label if len(label) <= 60 else label[:59] + '…'})"


def labelled(names: list[str], most: int = 200) -> list[str]:
    """The names with their labels, as many as there is time for: English ones first, then those of
    no language."""
    found: dict[str, str] = {}
    asked = [
        name
        for name in names[:most]
        if re.fullmatch(r"<[^\s<>\"{}|^`\\…]+>|[\w.-]*:\w[\w-]*", name)
    ]
    for start in range(0, len(asked), 40):
        query = (
            "SELECT ?x (MIN(CONCAT(IF(LANGMATCHES(LANG(?l), 'en'), '0', IF(LANG(?l) = '', '1',"
            " '2')), SUBSTR(STR(?l), 1, 61))) AS ?n) WHERE { VALUES ?x { "
            + " ".join(asked[start : start + 40])
            + " } ?x rdfs:label|skos:prefLabel ?l FILTER(isLiteral(?l)) } GROUP BY ?x"
        )
        try:
            page, _ = rows(query)
        except Exception:  # an endpoint may not have the time; the names alone are an answer
            break
        found |= {
            row["x"]: json.loads(row["n"])[1:] for row in page if row.get("n", "")[-1:] == '"'
        }
    return [name + label_shown(name, found.get(name, "")) for name in names]


def number_of(query: str) -> int:
    """The number that a query counts; 0 where it cannot be had: it is said beside the answer only."""
    try:
        return int(rows(query)[0][0]["n"])
    except Exception:
        return 0


def counted(number: int, one: str, many: str, wider: int = 0, how: str = "") -> str:
    """The answer that is a number. Another one, `wider`, stands in brackets: it was not asked for."""
    if wider > number:
        one, many = (re.sub("^instance", "direct instance", noun) for noun in (one, many))
    return f"{number} {one if number == 1 else many}" + f" ({wider} {how})" * (wider > number) + "."


def listed(
    names: list[str], one: str, many: str, whole: bool = True, wider: int = 0, how: str = ""
) -> str:
    """The answer that is a list. Its first line names nothing that is not in the list."""
    short = any(name.strip("<>").endswith("…") for name in names)  # each may stand for several
    if not names:
        return f"None: there are no {many}." + f"\n{how.capitalize()} there are {wider}." * (
            wider > 0
        )
    number = counted(len(names), one, many, wider, how)[:-1]
    if short or not whole:
        number = f"{'More than' if not whole else 'At least'} {len(names)} {many}, among them"
    return "\n".join([f"{number}:", *(f"- {name}" for name in labelled(names))])


def retired(query: str) -> list[str]:
    """The names that a query finds, of what is out of use; none where it cannot be had."""
    try:
        return [row["x"] for row in rows(query)[0]]
    except Exception:
        return []


def retired_last(reply: str, names: list[str], old: list[str]) -> str:
    """A list, or the number of it, with those that are deprecated under a line of their own."""
    gone = set(names) & set(old)
    if not gone:
        return reply
    first, *lines = reply.split("\n")
    end = first[-1:]
    apart = [line for line in lines if line[2:].split(" ")[0] in gone]
    kept = [
        f"{first[:-1]} ({len(gone)} of them deprecated){end}",
        *(line for line in lines if line not in apart),
    ]
    return "\n".join([*kept, *(["Deprecated:"] if apart else []), *apart])


def matched_shown(reply: str, found: list[dict[str, Any]], text: str, where: str) -> str:
    """A list with the name that has the text beside each term that does not show it otherwise."""

    def has(name: str) -> bool:
        name = name.lower()
        return (
            name.startswith(text)
            if where == "starts"
            else name.endswith(text)
            if where == "ends"
            else text in name
        )

    first, *lines = reply.split("\n")
    made = [first]
    for line in lines:
        name, _, label = line[2:].partition(" ")
        local = re.split(r"[/#:]", name.strip("<>").rstrip("/#"))[-1]
        if not has(local) and not has(label[1:-1]):
            texts = [re.sub(r'^"|"(@[\w-]+|\^\^\S+)?$', "", row["l"]) for row in found
                     if row["x"] == name and row.get("l", "")[:1] == '"']  # fmt: skip
            shown = [label_shown("", each) for each in sorted(texts) if has(each)]
            line += f", also “{shown[0][2:-1]}”" if shown and shown[0] else ""
        made.append(line)
    return "\n".join(made)


def spaces_told(spaces: dict[str, str], total: int) -> str:
    """The answer that lists namespaces, and says how many it does not have."""
    if not spaces:
        return "None: there are no namespaces with a prefix."
    more = total - len(set(spaces.values()))
    lines = [f"- {name}: {iri}" for name, iri in spaces.items()]
    return "\n".join(
        [
            f"{len(spaces)} namespaces:",
            *lines,
            *([f"{more} more are bound and not shown."] * (more > 0)),
        ]
    )


def part_told(about: dict[str, Any], part: str) -> str:
    """The sentence about the one part of a description that was asked for."""
    name, noun = (
        about["curie"],
        {"inverse_of": "inverse", "comment": "definition", "uri": "IRI"}.get(part, part),
    )
    noun = {"alternatives": "other label", "superproperties": "superproperty", "types": "type"}.get(
        part, noun
    )
    found = about.get(part) or []
    near = "; ".join(synonyms_told(about)) if part == "alternatives" else ""
    if part == "label" and about.get("unlabelled"):
        found = []
    if not found and about.get("left_out", {}).get(part):
        return f"The {noun} of {name} is too long to be shown here: see `rlm ontology describe`."
    if not found:
        return f"{name} has no {noun} that is stated." + f" {near}." * bool(near)
    if part == "comment":
        return f"Definition of {name}: {whole_text(str(found))}"
    if part == "label":
        return f"The label of {name} is “{found}”."
    found = (
        [found]
        if isinstance(found, str)
        else [f"“{text}”" for text in found]
        if part == "alternatives"
        else found
    )
    more = about.get("left_out", {}).get(part, 0)
    last = [*found[7:8], *([f"{len(found) + more - 8} more"] if len(found) + more > 8 else [])]
    shown = [*found[:7], *last]
    joint = " or " if about.get(f"{part}_is_union") else " and "
    said = ", ".join(shown[:-1]) + joint + shown[-1] if len(shown) > 1 else shown[0]
    many = len(shown) > 1 and not about.get(f"{part}_is_union")
    plural = re.sub("y$", "ie", noun) + "s" if many else noun
    return f"The {plural} of {name} {'are' if many else 'is'} {said}." + f" {near}." * bool(near)


def whole_text(text: str) -> str:
    """A text as it is; where it was cut, with a word on where the whole is."""
    return f"{text} (cut: `rlm ontology describe` has the whole)" if text.endswith("…") else text


def synonyms_told(about: dict[str, Any]) -> list[str]:
    """The names that are not quite those of a term, by how near they are."""
    lines = []
    for how in ("related", "narrow", "broad"):
        key = f"{how}_synonyms"
        found, more = about.get(key, []), about.get("left_out", {}).get(key, 0)
        more += len(found[8:])
        if found:
            said = ", ".join(f"“{text}”" for text in found[:8])
            lines.append(f"{how.capitalize()} synonyms: {said}" + f" and {more} more" * (more > 0))
    return lines


def told(
    about: dict[str, Any], parts: tuple[str, ...] = (), also: list[str] | tuple[str, ...] = ()
) -> str:
    """The answer that describes one term: the parts that were asked for first."""
    article = "an" if about["kind"][:1] in "aeiou" else "a"
    lines = [part_told(about, part) for part in parts]
    called = f" with the label “{about['label']}”" * (
        "label" not in parts and not about.get("unlabelled")
    )
    lines.append(f"{about['curie']} is {article} {about['kind'].replace(', ', ' and ')}{called}.")
    if also:
        lines.append("Of the same name: " + ", ".join(also))
    plain_iri = re.fullmatch(
        r"[\w:/#.%~?=&@+-]*[\w/#=]", about["uri"]
    )  # what else is in one could end it for a reader
    lines.append(f"IRI: {about['uri']}" if plain_iri else f"IRI: <{about['uri']}>")
    if about.get("comment") and "comment" not in parts:
        lines.append(f"Definition: {whole_text(about['comment'])}")
    if about.get("deprecated"):
        lines.append(
            "It is deprecated" + "".join(f"; use {name}" for name in about.get("use", [])[:3]) + "."
        )
    plain = r"(?:owl|rdfs?):(?:\w*Property|Class|NamedIndividual)"
    types = [
        name for name in about["types"] if not re.fullmatch(plain, name)
    ]  # the kind and the traits say the rest
    about = {**about, "types": types}
    keys = [
        "types",
        "traits",
        "alternatives",
        "superclasses",
        "subclasses",
        "equivalent_to",
        "disjoint_with",
    ]
    keys += [
        "superproperties",
        "domain",
        "range",
        "inverse_of",
        "properties",
        "range_of",
        "examples",
    ]
    missing = {key: number for key, number in about.get("left_out", {}).items() if key != "types"}
    lines += [] if "alternatives" in parts else synonyms_told(about)
    for key in [key for key in keys if (about.get(key) or key in missing) and key not in parts]:
        shown, whole = about.get(key, [])[:8], len(about.get(key, [])) + missing.get(key, 0)
        counted = {
            "subclasses": "subclass_count",
            "properties": "property_count",
            "examples": "instances",
        }.get(key, "")
        more = about.get(counted, whole) - len(shown)
        deep = about.get("all_subclass_count", 0) if key == "subclasses" else 0
        note = " (any of them)" * bool(about.get(f"{key}_is_union"))
        note += f" ({deep} at any depth)" * (deep > about.get("subclass_count", 0))
        by = about.get(f"{key}_by", {})
        note += f" ({', '.join(f'{number} by {way}' for way, number in by.items())})" * bool(by)
        head = {
            "inverse_of": "inverse",
            "alternatives": "other labels",
            "properties": "domain of",
        }.get(key, key)
        head = {"examples": "instances"}.get(key, head).replace("_", " ").capitalize()
        more_said = f"{' and ' * bool(shown)}{more} more" * (more > 0)
        lines.append(f"{head}: {', '.join(shown)}{more_said}{note}")
    return "\n".join(
        [*lines, *(rules_told(about) if "class" in about["kind"] else links_told(about))]
    )


def rules_told(about: dict[str, Any]) -> list[str]:
    """What a class demands of its instances, as `ex:part some ex:Wheel`; what cannot be read so is
    left out."""
    signs = {
        "someValuesFrom": "some",
        "allValuesFrom": "only",
        "hasValue": "value",
        "hasSelf": "self",
    }
    # a text is read to its end: it is no rule
    form = r' (\S+) ("(?:(?!\\?… ; )(?:[^"\\]|\\.))*"\S*|[^\s"]\S*) ;'
    found = []
    for each in about.get("outgoing_sample", []):
        said: dict[str, str] = {}
        rest = each["object"][1:-1] + ";"
        pair = re.match(form, rest)
        while pair:
            said[pair[1]], rest = pair[2], rest[pair.end() :]
            pair = re.match(form, rest)
        on = said.get("owl:onProperty", "[…]")
        rules = [key for key in said if re.match(r"owl:\w+(?:From|Value|Self|ardinality)$", key)]
        if each["object"][:1] == "[" and on != "[…]" and rules:
            bound = re.match("owl:(min|max)", rules[0])
            number = re.sub(r'^"([^"\s]*)"\^\^\S+$', r"\1", said[rules[0]])
            found.append(
                f"{on} {signs.get(rules[0][4:]) or (bound[1] if bound else 'exactly')} {number}"
            )
    more = len(found) > 5 or bool(found and about.get("left_out", {}).get("outgoing_sample"))
    return ["Restrictions: " + "; ".join(found[:5]) + "; and more" * more] if found else []


def links_told(about: dict[str, Any]) -> list[str]:
    """What else it points to: nothing that the lines above have said."""
    said = (
        "rdfs:domain rdfs:range rdfs:subPropertyOf rdfs:subClassOf owl:inverseOf rdfs:isDefinedBy"
        " owl:deprecated"
    )
    said += (
        " owl:equivalentClass owl:disjointWith skos:altLabel schema:domainIncludes"
        " schema:rangeIncludes"
    )
    sample = about.get("outgoing_sample", [])
    left = [each for each in sample if each["predicate"] not in said.split()]
    shown = [
        f"{each['predicate']} {each['object']}{label_shown(each['object'], each.get('label', ''))}"
        for each in left
    ]
    if not shown:
        return []
    more = (
        len(shown) > 5
        or len(sample) >= 20
        or bool(about.get("left_out", {}).get("outgoing_sample"))
    )
    return ["Links: " + "; ".join(shown[:5]) + "; and more" * more]


def about_told(stats: dict[str, Any], texts: list[str]) -> str:
    """The answer that says what the ontology is about: its title, what it says of itself, its
    sizes."""
    own = [
        re.sub(r'^"|"(@[\w-]+|\^\^\S+)?$', "", text)
        for text in sorted(texts, key=lambda text: "@en" not in text)
    ]
    words = (
        " ".join(re.sub(r"\\[nrt]|[<>]", " ", own[0]).replace('\\"', '"').split()) if own else ""
    )
    sizes = ", ".join(
        f"{stats[name]} {name}" for name in ("triples", "classes", "properties", "individuals")
    )
    lines = [f"{stats['title'] or 'This ontology'}: {sizes}.", words]
    if stats.get("key_classes"):
        lines.append("Key classes: " + ", ".join(stats["key_classes"]))
    return "\n".join(line for line in lines if line)


def chains(found: dict[str, Any]) -> str:
    """The answer that is a path: the shortest ones, with every property."""
    least = min(path["length"] for path in found["paths"])
    texts = [path["text"].split(" ") for path in found["paths"] if path["length"] == least]
    nodes = sorted({name for text in texts for name in text if re.match(r"<?\w[^<>\s]*:", name)})
    names = dict(zip(nodes, labelled(nodes), strict=True))
    shown = [" ".join(names.get(name, name) for name in text) for text in texts]
    steps = "1 step" if least == 1 else f"{least} steps"
    return "\n".join([f"They are connected in {steps}:", *(f"- {text}" for text in shown)])
