"""In which language a sentence is: by its script, or by the small words that hold it together.

Good enough to tell that a sentence is not in the language of the question; no more than that.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

OTHER_LETTERS = 6
"""So many letters of another script are a sentence, and no symbols any more."""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_CODE = re.compile(r"`[^`]*`|\S*[_:$?{}()<>/\\]\S*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH_WORDS = _words("""
    a about after all also an and any are as at be before between but by can do does don't
    down each either every first for from get has have how if in instead into is it its last
    less like list more most must never new no none not of off on once one only or other out
    over per same should so some such than that the their them then there these they this
    those to too twice two under unless until up use when where whether which while who with
    within without you
    """)
READING = _words("""
    accept access add adjust aggregate align allow also always analyse analyze annotate answer
    apply arrange ascertain ask assemble assign associate assume avoid base batch begin beware
    bind both bound branch break bring browse build cache calculate call cap capture cast
    catch categorise categorize change check choose chunk cite clarify classify clean climb
    close cluster collapse collect combine compare compile complete compute concatenate
    confine confirm connect consider consolidate construct consult contrast convert correct
    correlate count cover crop cross cut decide decompose deduce deduplicate define delete
    delimit derive descend describe detect determine differentiate discard disregard
    distinguish divide do don't double draw drop either enclose ensure enumerate escape
    establish estimate evaluate examine exclude exit expand expect explain explore express
    extend extract fall feed fetch fill filter finally find finish first fix flag flatten fold
    follow form format formulate gather generalise generalize generate get give glance go
    group guard handle hold identify ignore include index infer insert inspect instead
    interpret intersect invert isolate issue iterate join judge jump just keep label leave let
    limit line link list load locate look loop lower make map mark mask match measure mention
    merge mind model move name narrow navigate negate never next no normalise normalize not
    note nothing number observe offset omit once only open order page paginate pair parse
    partition peek perform pick pin place plan plot pose prefer prepare present preserve print
    prioritise prioritize probe proceed process project prune pull put qualify query quote
    range rank read rebuild recall recompute reconcile record reduce refer refine reformulate
    reject relate relax rely remember remove rename reorder repeat rephrase replace report
    request require rerun resolve restate restrict retain retrieve retry return reuse reverse
    review revisit rewrite round rule run sample save say scan scope score search section see
    segment select send separate set settle shorten show simplify sketch skip slice sort
    specify spell split spot start state stay step stop strip structure study submit
    substitute subtract sum summarise summarize supply survey swap switch tag take tally tell
    test then tie tighten tokenise tokenize total trace track transform translate traverse
    treat trim try tune turn type unify union use validate vary verify view visit wait walk
    watch weigh widen work wrap write zoom
    """)
"""What a step of a run that reads may begin with."""
NOUNS = _words("""
    above according again alone another anything around array asked because become below
    called cannot case class classes code column contain context could data date description
    dict different direct distinct document done element else empty entity error even exact
    example exist false field file final found function gives graph here hit individual input
    instance item itself kind large later least level literal local long made many mean member
    might missing need object often ontology output part pass passage path pattern point
    prefix problem property question rather reading reason related relation resource result
    right root row rows schema second sentence several shall similar simple since single size
    source space sparql still string subclass subject sure table term text thing three through
    time times together token tool tree triple true unique upper used user using usually value
    variable version want well what whole whose will word would wrong year your
    """)
"""What such a step is about, whatever the data."""
_SMALL = {
    "de": _words("""
        wie was wer wo warum welche welcher welches wann wieviele viele gibt es ich man
        wir ihn soll muss kann aber alle als am an auf aus bei beim bis damit dann das dem
        den der des die diese durch ein eine einem einen einer erst für ihm im immer ist
        jede jeder kein keine mit nach nicht nie noch nur oder ohne sie sind und vom von
        vor wenn werden wird zu zuerst zum zur über
        """),
    "fr": _words("""
        quel quelle quels quelles comment combien où pourquoi quand je on faut au aux
        avant avec ce ces cette chaque dans de des du elle en est et il la le les leur
        mais ne ou par pas pour puis que qui sans se si son sur toujours un une vers
        """),
    "es": _words("""
        qué cómo cuántos cuántas cuál cuáles dónde hay yo al antes cada como con cuando de
        del después el en entonces es esta este la las lo los más no nunca o para pero por
        primero que se si siempre sin su todas todos un una y
        """),
    "it": _words("""
        quale quali quanti quante come dove perché ci ho al alla che con cosa da dal del
        della delle di dopo e gli il in la le lo ma mai nel nella non ogni per poi prima
        quando se sempre senza si sono su tutte tutti un una
        """),
    "pt": _words("""
        qual quais quantos quantas como onde há eu antes ao as com cada da das de depois
        do dos e em ela mas na não nas no nos nunca o os ou para pela pelo por que se
        sempre sem todas todos um uma
        """),
    "nl": _words("""
        hoe wat wie waar welke hoeveel wanneer zijn ik aan alle als altijd bij dan dat de
        die een elke en er het in is met na naar niet nooit of om ook op te tot uit van
        voor wordt zonder
        """),
    "sv": _words("""
        hur vad vem var vilka många jag finns alla alltid att av de den det eller en ett
        från för i inte med och om på sedan som till utan är aldri aldrig at ikke og til
        fra
        """),
    "pl": _words("""
        jak co kto gdzie ile które czy są ja a ale bez być dla do i jest każdy lub na
        najpierw nie o od po potem przed przez się tylko w z za zawsze że
        """),
    "tr": _words("""
        nasıl ne kim nerede kaç hangi var mı ama bir bu da daha de en her için ile önce
        sonra tüm ve veya yok ya
        """),
    "id": _words("""
        bagaimana apa siapa mana berapa ada saya dan dari dengan di itu ini jika kemudian
        ke lalu pada semua setiap tidak untuk yang
        """),
    "vi": _words("""
        và của các cho không là một những trong với trước sau
        """),
    "cs": _words("""
        jak co kdo kde kolik které jsou a ale bez do je jen každý na ne nebo od po pro
        před pak s se v vždy z že
        """),
}


@lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """'en', a code such as 'de', a script such as 'cyrillic', 'other' for a sentence in none that
    is known here, or '' when there are too few words to tell. Code does not count."""
    prose = _CODE.sub(" ", text)
    scripts: dict[str, int] = {}
    for char in prose:
        if char.isalpha() and not char.isascii():
            script = unicodedata.name(char, "?").partition(" ")[0].casefold()
            scripts[script] = scripts.get(script, 0) + 1
    scripts.pop("latin", None)
    if scripts and max(scripts.values()) >= OTHER_LETTERS:
        script = max(scripts, key=lambda name: scripts[name])
        return "cjk" if script in ("cjk", "hiragana", "katakana") else script
    words = [word.casefold() for word in _WORD.findall(prose)]
    english = sum(word in ENGLISH_WORDS for word in words)
    known = english or any(word in READING or word in NOUNS for word in words)
    counts = {name: sum(word in small for word in words) for name, small in _SMALL.items()}
    best = max(counts, key=lambda name: counts[name])
    if counts[best] >= 2 and counts[best] > english:
        return best
    if known:
        return "en"
    return "" if len(words) < 5 else "other"
