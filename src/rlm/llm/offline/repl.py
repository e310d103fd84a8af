"""What `offline` runs in the REPL: reading a view to its end, and putting what it says into words.

These functions are sent as source text, those alone that a program calls, with the tools of the run
as globals. Names and labels come from the ontology and are nobody's orders: they end up in the
answer and nowhere else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rlm.llm.offline.repl_rows import (  # noqa: F401 - sent by their names # isort: skip
    View, add_equivalents, add_included, add_inherited, add_sources, fetch, from_query, keep_both,
    keep_sort, keep_stated, keep_types, look_up, note_further, note_kinds, search_query, shape_asks,
)  # fmt: skip

if TYPE_CHECKING:  # the REPL has these

    def sparql_query(query: str, limit: int = 100) -> Any: ...
    def describe_entity(uri: str) -> dict[str, Any]: ...
    def find_path(source: str, target: str, max_depth: int = 2) -> dict[str, Any]: ...

# -- lists and numbers


def tidy(text: Any) -> str:
    """A text of the ontology on one line, without what steers a terminal."""
    shown = (c if c.isprintable() or c.isspace() else "\ufffd" for c in str(text))
    return " ".join("".join(shown).split())


def plain_label(label: Any) -> str:
    """A label that may stand beside a name; '' for one that looks like a name itself."""
    text = tidy(label)
    return "" if re.search(r"[<>\"`“”]|:\S", text) else text[:80]


def show(row: View) -> str:
    """A row: its name, its label where that says more, and what else is odd about it."""
    name = str(row.get("name") or row.get("shape") or row.get("prefix", ""))
    notes = [label] if (label := plain_label(row.get("label", ""))) else []
    notes += ["by definition"] if row.get("by") == "definition" else []
    notes += [f"from {row['source']}"] if row.get("source") else []
    notes += ["deprecated"] if row.get("deprecated") else []
    notes += [f"use {', '.join(row['use'])}"] if row.get("use") else []
    if "namespace" in row:
        return f"{row['prefix'].rstrip(':')}: <{row['namespace'].strip('<>')}>"
    targets = "; ".join([*row.get("targets", []), *row.get("asks", [])])
    return name + (f" ({', '.join(notes)})" if notes else "") + (f": {targets}" if targets else "")


def tell_list(found: View, one: str, many: str) -> str:
    total, rows = found["total"], found["rows"]
    of = f" of {found['name']}" if found.get("name") else ""
    if found.get("cut") or found.get("more"):
        return f"Not answered: there are too many to look through for {many}{of}."
    if not total:
        return f"None: there are no {many}{of}.{found.get('note', '')}"
    rows = rows[:500]
    rest = total - len(rows)
    more = f"\n… and {rest} more" if rest > 0 else ""
    lines = "\n".join(f"- {show(row)}" for row in rows)
    lines = add_labels(lines) if "more" in found else lines  # a query's rows have none
    return f"{total} {one if total == 1 else many}{of}:\n{lines}{more}{found.get('note', '')}"


def tell_count(found: View, one: str, many: str) -> str:
    total = found["total"]
    of = f" of {found['name']}" if found.get("name") else ""
    if found.get("cut") or found.get("more"):
        return f"Not answered: there are too many to look through for {many}{of}."
    return f"{total} {one if total == 1 else many}{of}.{found.get('note', '')}"


def tell_declared(vocabulary: Any, stats: View) -> str:
    """How many classes a file declares. Those of OWL, RDFS or RDF are named, unless they count."""
    total, names = stats["declared_classes"], [str(row["x"]) for row in vocabulary]
    others = f", and {', '.join(names)}" if len(names) not in (0, total) else ""
    return f"{total} declared class{'es' * (total != 1)}{others}."


def tell_carriers(found: View, one: str, many: str) -> str:
    """What states a property of itself; where nothing does, that is not denied."""
    if not found["rows"]:
        return f"Not answered: no {one} states {found['name']} of itself; ask for its domain."
    return tell_list(found, f"{one} with a statement", f"{many} with a statement")


def tell_depths(direct: View, every: View, one: str, many: str) -> str:
    """A number both ways, where it is not said which is meant."""
    counted = tell_count(direct, one, many)[:-1]
    return f"{counted}, {every['total']} at any depth."


def tell_any(found: View, one: str, many: str) -> str:
    told = tell_list(found, one, many)
    return told.replace("None:", "No:", 1) if told[:3] in ("Non", "Not") else f"Yes: {told}"


def tell_by_domain(found: View, one: str, many: str, counts: bool = False) -> str:
    """The properties of a class and of those above it; where it has none, what shapes ask."""
    name, cut = found["name"], found.get("cut")
    if cut or not (asks := [] if found["total"] else shape_asks(name)):
        every = found if cut else add_sources(found)
        own, more = found["total"], every["total"] - found["total"]
        if counts:
            note = f"\n{more} more with the domain of a class above it" * (more > 0)
            return f"{tell_count(found, one, many)}{note}"
        free = from_query(sparql_query("SELECT ?x WHERE { ?x rdfs:domain owl:Thing }", limit=1000))
        number = keep_both(free, every, both=False)["total"]
        note = found.get("note", "")
        note += f"\n{number} more have the domain owl:Thing: anything may have them" * (number > 0)
        told = tell_list({**every, "note": note}, one, many)
        head = f"{own} {one if own == 1 else many} of {name}, {more} of classes above it:\n"
        return head + told.partition("\n")[2] if more else told
    said = f"No {one} of {name} by rdfs:domain; SHACL shapes ask for {len(asks)}"
    return f"{said}." if counts else "\n- ".join([f"{said}:", *asks])


def tell_between(found: View, every: View, name: str, other: str) -> str:
    """The properties from one class to another, then those of the classes above these."""
    above = f"from {name} or a class above it to {other} or a class above it"
    if not found["rows"]:
        return tell_list({**every, "name": ""}, f"property {above}", f"properties {above}")
    said = "property with this domain and range", "properties with this domain and range"
    told = [tell_list({**found, "name": ""}, *said)]
    if (more := keep_both(every, found, both=False))["rows"] and not found["cut"]:
        told += [tell_list({**more, "name": ""}, "more of classes above", "more of classes above")]
    return "\n".join(told)


def tell_equivalents(found: View, one: str, many: str) -> str:
    """The classes that are equivalent to one, and what it is defined as."""
    rows = fetch("restrictions", found["name"])["rows"]
    defined = [f"- {row['text']}" for row in rows if "equivalent" in row.get("by", "")]
    told = [tell_list(found, one, many)] if found["total"] or not defined else []
    return add_labels("\n".join([*told, *["Defined as equivalent to:"] * bool(defined), *defined]))


def tell_instances(found: View, counts: bool = False) -> str:
    """The instances of a class asked for by its name alone, or its subclasses."""
    tell = tell_count if counts else tell_list
    if not found["total"]:
        below = fetch("related", found["name"], relation="subclasses")
        if below["total"]:
            told = tell(below, "direct subclass", "direct subclasses")
            return f"No instances of {found['name']}, but {told}"
    return tell(found, "instance", "instances")


# -- yes or no


def tell_side_member(name: str, found: View) -> str:
    """Whether a class is the domain or range of a property, or a part of it."""
    side, prop, text = found["relation"], found["name"], found.get("text") or "not stated"
    if text == name:
        return f"Yes: {name} is the {side} of {prop}."
    is_part = any(row["name"] == name for row in found["rows"]) and not found.get("expression")
    said = "Yes: it is one of several" if is_part else "No"
    return add_labels(f"{said}: the {side} of {prop} is {text}.")


def tell_member(name: str, found: View, noun: str) -> str:
    """Whether a term is among the rows."""
    is_there = any(row["name"] == name for row in found["rows"])
    if not is_there and found["total"] > len(found["rows"]):
        return f"Not answered: {found['name']} has too many to look through."
    said = "Yes" if is_there else "No"
    return f"{said}: {name} is {'not ' * (not is_there)}{noun} of {found['name']}."


def tell_below(compared: View) -> str:
    x, y, relation = compared["x"], compared["y"], compared["relation"]
    noun = "subproperty" if "property" in compared["kinds"][0] else "subclass"
    if relation == "below":
        return f"Yes: {x} is a {noun} of {y}."
    if relation in ("same", "equivalent"):
        return f"Yes: {x} and {y} are {relation}."
    also = f"; {y} is a {noun} of {x}" if relation == "above" else ""
    return f"No: {x} is not a {noun} of {y}{also}."


def tell_is_a(compared: View, name: str, of_class: str) -> str:
    """Whether a class is below another, or a thing an instance of it."""
    if "class" in compared["kinds"][0]:
        return tell_below(compared)
    return tell_member(name, fetch("instances", of_class), "an instance")


def tell_disjoint(compared: View) -> str:
    is_so = compared["relation"] in ("disjoint", "complement")
    said = f"{compared['x']} and {compared['y']} are {'not stated to be ' * (not is_so)}disjoint."
    return f"{'Yes' if is_so else 'No'}: {said}"


def tell_equivalence(compared: View) -> str:
    """Whether two terms are equivalent, by a statement or through others."""
    x, y, relation = compared["x"], compared["y"], compared["relation"]
    if relation in ("same", "equivalent"):
        return f"Yes: {x} and {y} are {relation}."
    if not re.search("class|property", (kind := compared["kinds"][0])):
        return f"Not answered: {x} is {kind}; classes and properties are equivalent to others."
    every = add_equivalents(fetch("related", x, relation="equivalents"))
    if any(row["name"] == y for row in every["rows"]):
        return f"Yes: {x} and {y} are equivalent, through others."
    return f"No: {x} and {y} are not stated to be equivalent."


def tell_trait(about: View, trait: str) -> str:
    name = about.get("curie") or about["uri"]
    if trait in [each.lower().replace("-", " ") for each in about.get("traits", [])]:
        return f"Yes: {name} is {trait}."
    return f"No: {name} is not declared {trait}."


def tell_traits(about: View) -> str:
    name, traits = about.get("curie") or about["uri"], about.get("traits", [])
    return f"{name} is {', '.join(traits)}." if traits else f"None: {name} has no traits."


def tell_deprecated(about: View) -> str:
    name, use = about.get("curie") or about["uri"], about.get("use", [])
    instead = f"; use {', '.join(use)} instead" * bool(use)
    is_old = about.get("deprecated")
    return f"Yes: {name} is deprecated{instead}." if is_old else f"No: {name} is not deprecated."


# -- properties and values


def tell_sides(*found: View) -> str:
    """The domain and the range of a property, each as the file combines them."""
    said = []
    for side in found:
        side_name, name, text = side["relation"], side["name"], side.get("text")
        if not text:
            rows = fetch("values", name)["rows"]
            included = [r["value"] for r in rows if r["property"].endswith(f"{side_name}Includes")]
            text = " or ".join(included)
        none = f"None: {name} has no stated {side_name}."
        said.append(f"The {side_name} of {name} is {text}." if text else none)
    return add_labels("\n".join(said))


def add_labels(text: str) -> str:
    """The text with a label behind every name that is a number (`ex:data_0006`)."""
    plain = re.sub(r"<[^<>\s]*>", "", text)
    names = sorted(set(re.findall(r"\b[A-Za-z][\w.-]*:(?:[A-Za-z_-]*\d{3,}|\d+)\b", plain)))[:50]
    if not names:
        return text
    query = (
        f"SELECT ?x ?l WHERE {{ VALUES ?x {{ {' '.join(names)} }}"
        ' ?x rdfs:label|skos:prefLabel ?l } ORDER BY LANGMATCHES(LANG(?l), "en")'
    )
    found = [(str(row["x"]), str(row["l"])) for row in sparql_query(query, limit=200)]
    labels = {name: plain_label(re.sub(r'^"(.*)"\S*$', r"\1", label)) for name, label in found}
    for name in names:
        if labels.get(name):
            text = re.sub(rf"{re.escape(name)}\b(?! \()", f"{name} ({labels[name]})", text)
    return text


def tell_values(found: View) -> str:
    rows = [
        {"name": f"{row['property']}: {tidy(row['value'])}", "label": row.get("label", "")}
        for row in found["rows"]
    ]
    return tell_list({**found, "rows": rows}, "value", "such values" if not rows else "values")


def split_name(name: str) -> list[str]:
    """The words of a name, small and in the singular, without the verb in front: hasTag, tags."""
    words = re.split(r"[/#:]", name.strip("<>"))[-1] if ":" in name else name
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", words)
    small = [re.sub(r"(?<=[^su])s$", "", re.sub("ies$", "y", each.lower())) for each in found]
    return small[1:] if small[:1] in (["ha"], ["i"], ["has"], ["is"]) else small


def tell_by_word(values: View, restrictions: View, word: str) -> str:
    """What a term has under the one property whose name is this word, or ends with it."""
    wanted, fits = split_name(word), {}
    for row in [*values["rows"], *restrictions["rows"]]:
        words = split_name(row.get("property", ""))
        if wanted and words[-len(wanted) :] == wanted:
            fits[row["property"]] = len(words)
    best = [name for name in fits if fits[name] == min(fits.values())]
    if len(best) != 1 or values.get("total", 0) > len(values["rows"]):
        return f"Not answered: no one property of {values['name']} is called “{word}”."
    rows = [row for row in values["rows"] if row.get("property") == best[0]]
    if rows and "value" in rows[0]:
        return tell_values({**values, "rows": rows, "total": len(rows)})
    named = values if rows else restrictions
    return tell_restrictions(named, only=best[0])


def tell_restrictions(found: View, one: str = "", many: str = "", only: str = "") -> str:
    """All of them, or those about one property."""
    rows = [
        {"name": f"{row.get('by', 'subclass of')}: {row['text']}"
         + (f" (from {row['source']})" if row.get("source") else "")}
        for row in found["rows"]
        if only in ("", row.get("property"))
    ]  # fmt: skip
    cut = found.get("cut") or (bool(only) and found["total"] > len(found["rows"]))
    found = {**found, "rows": rows, "total": len(rows) if only else found["total"], "cut": cut}
    told = tell_list(found, one or "restriction", many or "such " * bool(only) + "restrictions")
    asks = [] if found["total"] or only else shape_asks(found["name"])
    more = [f"SHACL shapes ask for {len(asks)}:", *(f"- {ask}" for ask in asks)] if asks else []
    return add_labels("\n".join([told, *more]))


# -- names and texts


def tell_texts(found: View, kind: str, noun: str, lang: str = "", counts: bool = False) -> str:
    """Labels, synonyms, definitions, comments or examples of a term."""
    rows = [row for row in found["rows"] if row.get("kind") == kind]
    if noun != kind and kind in ("synonym", "label"):  # "exact synonym": hasExactSynonym
        sort = noun.split()[0].lower()
        rows = [row for row in rows if sort in row.get("property", "").lower()]
    if kind == "definition" and not rows:  # a file without definitions explains in comments
        rows = [row for row in found["rows"] if row.get("kind") == "comment"]
    name, within = found["name"], f" in the language {lang}" if lang else ""
    if found["total"] > len(found["rows"]):
        return f"Not answered: {name} has too many texts to look through."
    if counts:
        return f"{len(rows)} {noun}{'s' * (len(rows) != 1)} of {name}."
    if not rows:
        return f"None: {name} has no {noun}{within}."
    lines = [
        f'- "{tidy(row["text"])}"' + (f"@{row['lang']}" if row.get("lang") else "") for row in rows
    ]
    return "\n".join([f"{noun.capitalize()}{'s' * (len(rows) != 1)} of {name}{within}:", *lines])


def tell_definition(texts: View, restrictions: View) -> str:
    """How a term is defined: by what it is equivalent to, then in words, of one language."""
    name, equal = texts["name"], "equivalent"
    said = [row["text"] for row in restrictions["rows"] if equal in row.get("by", "")]
    said += [str(each) for each in describe_entity(name).get(f"{equal}_to", [])]
    said = [add_labels(f"- {equal} to: {text}") for text in said]
    kinds = [row.get("kind") for row in texts["rows"]]  # without definitions, comments explain
    kind = "definition" if "definition" in kinds else "comment"
    rows = [row for row in texts["rows"] if row.get("kind") == kind]
    rows.sort(key=lambda row: (row.get("lang", "")[:2] not in ("en", ""), row.get("lang", "")))
    tags = [row.get("lang", "") for row in rows]
    said += [
        f'- "{tidy(row["text"])[:1500]}"'
        for row in rows[: min(3, tags.count(tags[0]) if tags else 0)]
    ]
    none = f"None: {name} has no definition."
    return "\n".join([f"Definition of {name}:", *said]) if said else none


def tell_replacement(found: View) -> str:
    """What replaces a term; where the file says it in a way of its own, the values that do."""
    if not found["total"]:
        values = [(row["property"], row["value"]) for row in fetch("values", found["name"])["rows"]]
        by, said = "replacedby|supersededby|consider", "(replaced|superseded) by|use .* instead"
        rows = [{"name": value} for name, value in values if re.search(by, name.lower())]
        notes = [
            f"\n{n} says: {tidy(text)}" for n, text in values if re.search(f"(?i){said}", text)
        ]
        if not rows:
            return f"None: no replacement of {found['name']} is stated.{''.join(notes)}"
        found = {**found, "rows": rows, "total": len(rows)}
    return tell_list(found, "replacement", "replacements")


def tell_languages(found: View) -> str:
    tags = {row["lang"] for row in found["rows"] if row.get("kind") == "label" and row.get("lang")}
    if not tags:
        return f"None: no label of {found['name']} has a language."
    return f"{found['name']} has labels in {', '.join(sorted(tags))}."


def tell_description(about: View) -> str:
    """The parts of a description that have something to say, a line each."""
    name, kind = about.get("curie") or about["uri"], str(about.get("kind", "term"))
    label = plain_label(about.get("label") or "")
    local = re.split("[/#:]", name.strip("<>"))[-1].lower()
    called = f" ({label})" if label and re.sub(r"\W|_", "", label.lower()) != local else ""
    said = [f"{name}{called} is a{'n' * (kind[:1] in 'aeiou')} {kind}."]
    said += [f"{tidy(about[key])}" for key in ("definition", "comment") if about.get(key)][:1]
    about = {**about, **{k: about[f"{k}_expression"] for k in ("domain", "range")
                         if about.get(f"{k}_expression")}}  # fmt: skip
    for key in (
        "types", "superclasses", "subclasses", "superproperties", "subproperties", "domain",
        "range", "inverse_of", "traits", "equivalent_to", "disjoint_with", "restrictions",
        "alternatives", "use",
    ):  # fmt: skip
        parts = about.get(key) or []
        parts = parts if isinstance(parts, list) else [parts]
        names = [tidy(each.get("name", each) if isinstance(each, dict) else each) for each in parts]
        names = [each for each in names if not each.startswith("owl:") or key != "types"]
        rest = about.get("left_out", {}).get(key, 0)
        titles = {"use": "replaced by", "alternatives": "also called"}
        title = titles.get(key, key.replace("_", " "))
        if names:
            said.append(f"- {title}: {', '.join(names)}" + f" and {rest} more" * bool(rest))
    return "\n".join(said + ["- deprecated"] * bool(about.get("deprecated")))


# -- two terms, and the whole


def climb(source: str, target: str) -> list[str]:
    """The way from a term up, by statements or definitions; empty where there is none."""
    tops: dict[str, list[str]] = {}
    place = [source]
    for row in fetch("tree", source, direction="up", depth=100)["rows"]:
        place = [*place[: row["depth"]], row["name"]]
        if row.get("by") != "equivalence":
            tops.setdefault(place[-2], []).append(row["name"])
    ways = [[source]]
    for way in ways:  # which grow, the shortest first
        if way[-1] == target and len(way) > 1:
            return way
        ways += [[*way, top] for top in tops.pop(way[-1], ())]
    return []


def tell_paths(source: str, target: str, kinds: list[str]) -> str:
    """The way through the hierarchy; without one the shortest paths, a line each."""
    in_tree = all(re.search("class|property", kind) for kind in kinds)
    if in_tree and (way := climb(source, target) or climb(target, source)):
        steps = len(way) - 1
        arrow = " -rdfs:subPropertyOf-> " if "property" in kinds[0] else " -rdfs:subClassOf-> "
        return add_labels(f"Connected in {steps} step{'s' * (steps != 1)}:\n- {arrow.join(way)}")
    found = find_path(source, target, max_depth=4)
    if not (paths := found["paths"]):
        left_out = re.search(r" \(.*\)", found["note"])
        told = f"None: no path of up to 4 steps joins {source} and {target}"
        return f"{told}{left_out.group() if left_out else ''}."
    shortest = min(len(path["edges"]) for path in paths)
    lines = ["- " + path["text"] for path in paths if len(path["edges"]) == shortest]
    return add_labels("\n".join([f"Connected in {shortest} step{'s' * (shortest != 1)}:", *lines]))


def tell_comparison(compared: View) -> str:
    x, y = compared["x"], compared["y"]
    said = [f"{x} and {y}: {compared['relation']}."]
    for key, title in (("nearest_common", "nearest common superclasses"), ("shared", "both"),
                       ("only_x", f"only {x}"), ("only_y", f"only {y}")):  # fmt: skip
        if compared.get(key):
            said.append(f"- {title}: {'; '.join(compared[key])}")
    return "\n".join(said)


def tell_levels(tree: View, direction: str = "") -> str:
    """How deep the hierarchy is, or how far the classes above or below one class go."""
    number, name = tree.get("levels"), tree.get("name")
    if number is None:
        return "Not answered: the hierarchy is endless, for it has a cycle."
    if not name:
        steps = f"{max(0, number - 1)} step{'s' * (number != 2)} of rdfs:subClassOf"
        return f"{number} level{'s' * (number != 1)} of classes: {steps} by the longest way."
    return f"{number} level{'s' * (number != 1)} {direction} {name}, by the longest way."


def tell_common(compared: View) -> str:
    x, y, names = compared["x"], compared["y"], compared.get("nearest_common", [])
    if not names:
        return f"None: {x} and {y} have no common superclass."
    return add_labels(f"The nearest common superclass of {x} and {y}: {', '.join(names)}.")


def tell_prefix(found: View, prefix: str) -> str:
    spaces = {row["prefix"].rstrip(":"): row["namespace"].strip("<>") for row in found["rows"]}
    space = spaces.get(prefix.rstrip(":"))
    none = f"None: the prefix {prefix} is not bound."
    return f"{prefix} stands for <{space}>." if space else none


def tell_metadata(found: View, names: tuple[str, ...] = ()) -> str:
    """What the ontology says of itself: all of it, or the statements with one of these names."""
    rows = [row for row in found["rows"] if not names
            or re.split("[/#:]", row["property"].strip("<>"))[-1].lower() in names]  # fmt: skip
    if not rows and not found["ontologies"]:
        return "Not answered: the file declares no owl:Ontology, and nothing else was looked at."
    if not rows:
        said = names[0] if names else "statement"
        return f"None: <{'>, <'.join(found['ontologies'][:3])}> has no {said}."
    return "\n".join(
        f"- {row['property']}: {tidy(row['value'])}"
        + (f" (of {row['ontology']})" if row.get("ontology") else "")
        for row in rows
    )
