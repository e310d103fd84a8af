"""Whether a question is in a language that `offline` cannot read: it reads English only.

The evidence is the writing system, and the small words that a language cannot do without. A name
says nothing of the language: quoted names and IRIs are not looked at, and neither are single words
in capitals. A word of asking outweighs a foreign name, so "What is Tätigkeit?" and "subclasses of
活動" are English. Where there is doubt, it is English.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from rlm.llm.offline.asked import understand
from rlm.llm.offline.asked.kinds import hidden

# -- The small words of languages, for `language`: what English asks with, what others ask with,
# what says nothing.


ENGLISH = """
about above according all and any anything are as at available be been being below between both bottom but by can
child children connect connected connection could count counted define defined defines describe described describes
did directly do does each either every everything exist exists explain find first for from get give had has have
help here how i if inherit inherited into is it its kind kinds know known like linked list look many may me mean
meaning means mention mentions most my name named names not of on one ones only or other our path please related
return search see should show some such tell than that the their them there these they thing things this those
through to top under us use used using was we were what what's when where whether which who whose why with without
would you your
"""

OF_THE_TRADE = """
class classes concept concepts definition description direct domain individual individuals instance instances label
labels namespace namespaces number parent parents properties property range relation relations root roots subclass
subclasses superclass superclasses term terms type types
"""
"""English too, but other languages write some of them alike."""

ALIKE = """
a ada ai al ali also alt am an are as au bir care ce chi cho ci classe classes co com come con cum da dan dari das
dat de den der des describe det di die din dit do door dos e egy ei el en entre er et existe favor fel for ha har
hat hol i il im ima in ini is itu iz ja kan ke khi ki kim ko la las le les lista liste lo los ma man mana me med mi
mit moi mu na ne no nos o od of om on op or os pe per plus po pour sa sao se so son su subclasses sur t tem til till
to tout tra um un unter v van var ve vis von w war was y z za
"""
"""Words that are names, abbreviations or English as well: alone they are no evidence."""
FOREIGN = {
    "German": (
        """
        was welche welcher welches welchen wie viele viel gibt es ist sind der die das den dem des ein eine
        einer eines einen und oder nicht von zu zum zur mit für auf alle aller wer wo wann warum wieso wohin hat
        haben kann man nenne nennen zeige zeig liste erkläre beschreibe bedeutet zwischen über unter wird werden
        kein keine im vom bitte mir alles heißt heisst steht ich sich auch bei aus dieser diese dieses ontologie
        klasse klassen unterklassen oberklassen eigenschaften
    """
    ),
    "French": (
        """
        quel quelle quels quelles qu est ce que qui quoi où quand comment pourquoi combien les des une un du de
        la le et ou dans pour par sur avec sont y a t il elle ils elles existe liste lister décris décrire donne
        donnez moi montre explique expliquez entre toutes tous tout aux au cette ces cet leur leurs pas ne sous
        lesquelles lesquels trouve définir nous vous je ontologie classe propriétés plaît
    """
    ),
    "Spanish": (
        """
        qué que cuál cuáles cual cuales cuántas cuántos cuantas cuantos cómo como dónde donde cuándo cuando
        quién quien por para con los las el la de del un una unos unas es son está están hay y o en todas todos
        muestra muéstrame lista dime describe explica entre existe existen tiene tienen significa clase clases
        propiedades ontología dame favor mostrar listar se lo su sus al no sobre según subclases
    """
    ),
    "Italian": (
        """
        che cosa cos è quali quale quante quanti quanta quanto come dove quando chi perché il lo la i gli le un
        una di del della dei delle degli dello nel nella e o con per tra fra sono ci elenca elencare mostra
        mostrami descrivi spiega significa esiste esistono tutte tutti ha hanno classe classi proprietà
        ontologia dimmi da sul sulla sottoclassi
    """
    ),
    "Portuguese": (
        """
        o que é qual quais quantas quantos como onde quando quem por porque para com os as um uma uns umas do da
        dos das no na nos nas e são está há existem existe tem têm liste listar mostre descreva explique entre
        todas todos significa classe propriedades ontologia me de ao pela pelo diga subclasses
    """
    ),
    "Dutch": (
        """
        wat welke welk hoeveel hoe waar wanneer wie waarom is zijn de het een van en of met voor op er geef noem
        toon laat zien beschrijf leg uit tussen alle alles betekent bestaat bestaan heeft hebben niet geen in
        ontologie klasse klassen eigenschappen aan mij deze dit dat die naar subklassen
    """
    ),
    "Swedish": (
        """
        vad vilka vilken vilket hur många mycket var när vem varför är en ett och eller med för på av till det
        den de finns har kan inte alla allt visa lista beskriv förklara mellan betyder som i om mig ontologin
        klass klasser egenskaper underklasser
    """
    ),
    "Danish or Norwegian": (
        """
        hvad hva hvilke hvilken hvilket hvor mange meget hvem hvorfor hvordan når er en et og eller med for på
        av af til det den de findes finnes har kan ikke alle alt vis liste beskriv forklar mellem mellom betyder
        betyr som i om meg mig der klasser egenskaber egenskaper underklasser
    """
    ),
    "Finnish": (
        """
        mikä mitä mitkä mikäs kuka missä milloin miksi kuinka monta miten on ovat ja tai ei onko kaikki luettele
        näytä kuvaile selitä mitään välillä tarkoittaa luokkia luokat luokka luokan alaluokat ominaisuudet
    """
    ),
    "Polish": (
        """
        co to jest są jaki jaka jakie jak który która które ile gdzie kiedy kto dlaczego czy w z na do od po i
        oraz lub nie wszystkie wymień pokaż opisz wyjaśnij między dla ma mają oznacza klasa klasy klas
        właściwości podklasy się
    """
    ),
    "Czech or Slovak": (
        """
        co je jsou jsu sú čo jaký jaká jaké aké aký kolik koľko kde kdy kto kdo proč prečo který která které
        ktoré v z na do od a nebo alebo ne všechny všetky vypiš zobraz popiš vysvětli mezi medzi má znamená
        třídy tříd třída vlastnosti podtřídy podtriedy to
    """
    ),
    "Romanian": (
        """
        ce este sunt care cât câte câți cum unde când cine de la și sau cu pentru pe în din al ale ai a lui o un
        toate toți listează arată descrie explică între există are au înseamnă clasa clase clasele proprietăți
        subclasele nu
    """
    ),
    "Hungarian": (
        """
        mi mik mit milyen melyek melyik mennyi hány hol mikor ki miért hogyan a az egy és vagy van vannak nem
        sorold fel mutasd írd le magyarázd között minden összes jelent osztály osztályok osztálya alosztályai
        tulajdonságai
    """
    ),
    "Turkish": (
        """
        ne nedir neler nelerdir hangi hangileri kaç nerede zaman kim neden nasıl bir ve veya ile için var mı mi
        mu mü yok değil tüm bütün listele göster açıkla tanımla arasında sınıf sınıflar sınıfın alt özellikleri
        olan
    """
    ),
    "Indonesian or Malay": (
        """
        apa apakah itu ini yang mana berapa banyak di dari ke dan atau dengan untuk ada tidak semua sebutkan
        tampilkan jelaskan antara siapa kapan mengapa bagaimana kelas subkelas adalah sifat senarai
    """
    ),
    "Catalan": (
        """
        què quin quina quins quines són és els les el la de del dels un una i o amb per quant quants quantes hi
        ha com on quan qui mostra llista descriu explica entre totes tots classe classes propietats ontologia
        subclasses
    """
    ),
    "Croatian, Serbian or Slovene": (
        """
        što šta kaj je su so koje koji koja katere kateri koliko gdje gde kje kada kdaj tko ko kdo zašto zakaj
        kako i in ili ali sa za na od do iz sve vse nisu navedi prikaži opiši objasni između med znači klase
        klasa razredi svojstva lastnosti podklase ima
    """
    ),
    "Vietnamese": (
        """
        là gì nào bao nhiêu ở đâu khi ai tại sao thế có không các những của và hoặc với cho tất cả liệt kê mô tả
        giải thích giữa lớp thuộc tính một
    """
    ),
}


READ_CHARS = 4_000
"""So much of a question is looked at."""
BLOCK_CHARS = 1 << 20
BLOCKS = 64
"""So much of a text is searched for the words of a question: in a longer one they may well be."""

_ENGLISH, _OF_THE_TRADE, _ALIKE = (
    frozenset(listed.split()) for listed in (ENGLISH, OF_THE_TRADE, ALIKE)
)
_OF_LANGUAGE = {language: frozenset(listed.split()) for language, listed in FOREIGN.items()}

_SCRIPTS = {
    "CJK": "Chinese or Japanese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean",
    "CYRILLIC": "a language in Cyrillic letters", "GREEK": "Greek", "ARABIC": "a language in Arabic letters",
    "HEBREW": "Hebrew", "DEVANAGARI": "a language in Devanagari", "BENGALI": "Bengali", "TAMIL": "Tamil",
    "THAI": "Thai", "GEORGIAN": "Georgian", "ARMENIAN": "Armenian", "ETHIOPIC": "a language in Ethiopic letters",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NAMED = re.compile(r"(?<!\S)\S*(?:[:#/_@]\S|[a-z][A-Z])\S*|\ue000\d+\ue001")


def foreign_language(question: str) -> str:
    """The language that a question is in, when it is surely not English; else ''.

    >>> foreign_language("Welche Unterklassen hat Activity?"), foreign_language("Which subclasses has Tätigkeit?")
    ('German', '')
    """
    text = unicodedata.normalize("NFC", hidden(question[:READ_CHARS])[0])
    words = _WORD.findall(_NAMED.sub(" ", text))
    if not text.isupper():
        words = [word for word in words if len(word) == 1 or not word.isupper()]
    low = [part for word in words for part in _parts(word.lower())]
    asks = bool(re.search("[?？؟;]", text))
    return _by_letters(words, low, asks=asks) or _by_words(low, asks=asks)


def unreadable(question: str, texts: Iterable[str] | None = None, *, ontology: bool = False) -> str:
    """The language of a question that `offline` can do nothing with; '' for one that it can read or
    look up.

    Over a text, `offline` looks for what is quoted and for the words of a question in any language:
    such a question is readable where one of them is in the text.
    """
    language = foreign_language(question)
    if not language or (ontology and understand(question) is not None):
        return ""
    return language if texts is None or not _searchable(question, language, texts) else ""


# -- evidence
# --------------------------------------------------------------------------------------------------


def _parts(word: str) -> list[str]:
    """A word, taken apart at its apostrophe where it is none of English: qu'est, cos'è,
    l'ontologie."""
    word = word.replace("’", "'")
    return (
        [word]
        if word in _ENGLISH or word.endswith(("'s", "n't", "'re", "'d", "'ve"))
        else word.split("'")
    )


def _by_letters(words: list[str], low: list[str], *, asks: bool) -> str:
    """By the writing system. A single name in it, or one beside English words, is no question in
    that language."""
    from rlm.llm.offline.text.terms import is_unspaced

    found = Counter(kind for word in words for letter in word if (kind := _script(letter)))
    count = sum(found.values())
    if count < 2 or any(word in _ENGLISH or word in _OF_THE_TRADE for word in low):
        return ""
    there = [word for word in words if any(map(_script, word))]
    long_run = any(is_unspaced(word) and len(word) >= 5 for word in there)
    sentence = len(there) > 1 or (len(words) > 1 and asks) or long_run or (asks and count > 2)
    if not sentence or (found.keys() == {"GREEK"} and count < 6):
        return ""
    if found.keys() & {"HIRAGANA", "KATAKANA"}:
        return _SCRIPTS["HIRAGANA"]
    best = found.most_common(1)[0][0]
    return _SCRIPTS.get(best, f"a language in {best.capitalize()} letters")


def _script(letter: str) -> str:
    """The writing system of a letter; '' for the Latin one and for signs."""
    if letter < "\u0370" or not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "LATIN").split()[0]
    return (
        ""
        if name
        in (
            "LATIN",
            "MODIFIER",
            "MATHEMATICAL",
            "FULLWIDTH",
            "SUPERSCRIPT",
            "DOUBLE-STRUCK",
        )
        else name
    )


def _by_words(low: list[str], *, asks: bool) -> str:
    """By the small words: two of one language, one of which only it has, and hardly any that only
    English has."""
    most, language = (0, 0), ""
    for name, listed in _OF_LANGUAGE.items():
        hits = [word for word in low if word in listed]
        sure = sum(word not in _ALIKE and word not in _ENGLISH for word in hits)
        if sure and (sure, len(hits)) > most:
            most, language = (sure, len(hits)), name
    if not language:
        return ""
    sure, hits_in_all = most
    own = sum(word in _ENGLISH and word not in _OF_LANGUAGE[language] for word in low)
    short = len(low) <= 4 and (asks or (len(low[0]) > 4 and low[0] in _OF_LANGUAGE[language]))
    return language if (hits_in_all >= 2 or short) and (not own or sure >= max(3, 3 * own)) else ""


# -- a text
# ----------------------------------------------------------------------------------------------------


def _searchable(question: str, language: str, texts: Iterable[str]) -> bool:
    """Whether offline's plan for a text is more than to look for words, or one of the words is
    there."""
    from rlm.llm.offline.text.question import plan_for
    from rlm.llm.offline.text.reading import fold

    plan = plan_for(question)
    if plan.kind != "passages":
        return plan.kind != "none"
    small = _OF_LANGUAGE.get(language, frozenset())
    terms = [term for term in plan.args["terms"] if fold(term[0]) not in small] or plan.args[
        "terms"
    ]
    wanted = re.compile("|".join(_piece(stem, mode) for _, stem, mode in terms))
    blocks = islice(_blocks(texts), BLOCKS + 1)
    return any(place == BLOCKS or wanted.search(block) for place, block in enumerate(blocks))


def _piece(stem: str, mode: str) -> str:
    """What of a term must be in a text; of a run without spaces, any two neighbours."""
    if mode == "longest":
        return "|".join(re.escape(stem[at : at + 2]) for at in range(max(1, len(stem) - 1)))
    return rf"(?<!\w){re.escape(stem)}" + (r"(?!\w)" if mode == "whole" else "")


def _blocks(texts: Iterable[str]) -> Iterator[str]:
    from rlm.llm.offline.text.reading import fold

    for text in texts:
        for start in range(0, len(text), BLOCK_CHARS):
            yield fold(text[start : start + BLOCK_CHARS + 100])
