"""Which questions `offline` says are in another language: surely foreign ones, and no English one."""

from __future__ import annotations

import corpus_questions
import corpus_questions_fresh
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.llm.offline.asked import understand
from rlm.llm.offline.language import foreign_language, unreadable
from rlm.packs.curriculum import read_curriculum

FOREIGN = {
    "German": (
        """
        Was ist ein Hafen? | Welche Klassen haben keine Oberklasse? | Wie viele Eigenschaften hat Agent?
        Zeig mir alle Unterklassen von Entity | Gibt es eine Klasse namens Plan? | Ist Person eine Art von Agent?
        Wie hängen Activity und Entity zusammen? | WAS IST ACTIVITY? | Erkläre mir den Begriff Delegation bitte"""
    ),
    "French": (
        """
        Qu'est-ce qu'un port ? | Quelles classes n'ont pas de superclasse ? | Donne-moi les propriétés de Agent
        Existe-t-il une classe Plan ? | Combien d'instances y a-t-il ? | Montre toutes les sous-classes de Entity
        Comment Activity est-elle liée à Entity ? | Quels espaces de noms sont utilisés ?"""
    ),
    "Spanish": (
        """
        ¿Qué es un puerto? | ¿Cuántas propiedades tiene Agent? | Muéstrame todas las subclases de Entity
        Existe una clase llamada Plan? | Cual es la superclase de Person | ¿Cómo se relacionan Activity y Entity?"""
    ),
    "Italian": (
        """
        Che cos'è un porto? | Quante proprietà ha Agent? | Mostrami tutte le sottoclassi di Entity
        Esiste una classe chiamata Plan? | Qual è la superclasse di Person? | Quali istanze ci sono?"""
    ),
    "Portuguese": (
        """
        O que é um porto? | Quantas propriedades tem Agent? | Mostre todas as subclasses de Entity
        Existe uma classe chamada Plan? | Qual é a superclasse de Person?"""
    ),
    "Dutch": (
        """
        Wat is een haven? | Hoeveel eigenschappen heeft Agent? | Geef alle subklassen van Entity
        Bestaat er een klasse Plan? | Wat betekent Delegation?"""
    ),
    "Swedish": (
        "Vad är en hamn? | Hur många egenskaper har Agent? | Visa alla underklasser till Entity"
    ),
    "Danish or Norwegian": "Hvad er en havn? | Hvor mange egenskaber har Agent? | Hva er en havn?",
    "Finnish": "Mikä on satama? | Kuinka monta luokkaa on? | Luettele kaikki alaluokat",
    "Polish": "Co to jest port? | Ile właściwości ma Agent? | Wymień wszystkie podklasy Entity",
    "Czech or Slovak": (
        "Co je přístav? | Kolik vlastností má Agent? | Vypiš všechny podtřídy Entity"
    ),
    "Romanian": "Ce este un port? | Câte proprietăți are Agent? | Care sunt subclasele lui Entity?",
    "Hungarian": "Mi az a kikötő? | Hány osztály van? | Melyek az Entity alosztályai?",
    "Turkish": "Liman nedir? | Kaç sınıf var? | Entity sınıfının alt sınıfları nelerdir?",
    "Indonesian or Malay": (
        "Apa itu pelabuhan? | Berapa banyak kelas yang ada? | Sebutkan semua subkelas dari Entity"
    ),
    "Vietnamese": "Cảng là gì? | Có bao nhiêu lớp? | Liệt kê tất cả các lớp con của Entity",
    "Chinese": "什么是港口？ | Entity有哪些子类？ | 列出所有的类 | 有多少个属性？",
    "Japanese": "港とは何ですか？ | Entityのサブクラスを教えてください | クラスはいくつありますか",
    "Korean": "항구란 무엇입니까? | Entity의 하위 클래스를 나열하세요 | 클래스가 몇 개 있나요?",
    "Russian": "Что такое порт? | Сколько классов в онтологии? | Назови все подклассы Entity",
    "Greek": "Τι είναι το λιμάνι; | Πόσες κλάσεις υπάρχουν;",
    "Arabic": "ما هو الميناء؟ | كم عدد الأصناف؟",
    "Hebrew": "מהו נמל? | כמה מחלקות יש?",
    "Hindi": "बंदरगाह क्या है? | कितने वर्ग हैं?",
    "Thai": "ท่าเรือคืออะไร | มีกี่คลาส",
}
ASKED_ELSEWHERE = [
    (language, question.strip())
    for language, listed in FOREIGN.items()
    for line in listed.splitlines()
    for question in line.split("|")
    if question.strip()
]
ENGLISH = """
What is Tätigkeit? | subclasses of 活動 | describe Активность | What does "Was ist das" mean? | Explain El Niño
Which classes are below Обязанность? | list the children of Équipe | Is Gerät a subclass of Objekt?
properties of Größe | What is la vie en rose? | Tell me about De la Cruz | Who is Vincent van der Berg? | Los Angeles
Das Kapital? | La Paz? | describe `qué es esto` | what about 'ist der die das'? | activity | Activity? | prov:Activity
ex:istEinTeilVon | Activity subclasses | classes? | namespaces | how many | list | roots pls
wat is the class Activity | WHAT IS ACTIVITY | what is un-typed data | is-a hierarchy of die casting?
Die in den Haag? | per se | data on la nina | de novo | ab initio | β-carotene? | α | What is α-synuclein?
naïve Bayes | São Paulo | Universität Wien | Μῆνιν | 活動 | 活動 subclasses? | ∂x/∂y | show me the pour point
sur-class of son | man page | an on-die cache | comment on it | liste the classes | 42 | ???
What is an Ost-West-Achse? | What is 'für die Katz'? | whose son is Tor? | On which Fjord is Å?
no. of classes in prov | How is l'Étoile related to d'Artagnan? | Compare kind and type | <http://example.org/ist/das>
a b c d e f | x | name 3 subclasses plz | tell me smth about agents | entity vs activity | and its parents? | why
is it so | Find terms with 'über' in them | instances of Straße und Weg | lorem ipsum dolor sit amet | asdf qwer zxcv
I I I
"""
PLAIN = [
    question.strip()
    for line in ENGLISH.splitlines()
    for question in line.split("|")
    if question.strip()
]


def test_questions_in_other_languages_are_known():
    assert len(ASKED_ELSEWHERE) >= 60 and len(FOREIGN) >= 10
    missed = [asked for _, asked in ASKED_ELSEWHERE if not unreadable(asked, ontology=True)]
    assert missed == []
    named = [
        (told, asked)
        for told, asked in ASKED_ELSEWHERE
        if told in ("German", "French", "Spanish", "Italian")
    ]
    assert [asked for told, asked in named if foreign_language(asked) != told] == []


def test_no_english_question_is_taken_for_one(root):
    corpora = (
        corpus_questions.ALL,
        corpus_questions.HARD,
        corpus_questions_fresh.FRESH,
        corpus_questions_fresh.OTHER,
    )
    lessons = [
        task.query
        for path in (root / "docs/curricula").glob("*.yaml")
        for task in read_curriculum(path).tasks
    ]
    rows = {row.question for corpus in corpora for row in corpus if row.kind}
    assert len(PLAIN) >= 60 and len(lessons) >= 60 and len(rows) >= 500
    assert [asked for asked in (*PLAIN, *lessons, *rows) if foreign_language(asked)] == []


@pytest.mark.parametrize(
    ("question", "text", "refused"),
    [
        ("Wann wurde der Hafen gebaut?", "Der Hafen wurde 1890 gebaut.", False),
        ("Wann wurde der Hafen gebaut?", "The harbour was built in 1890, and es war there.", True),
        ("Wie oft kommt “harbour” vor?", "nothing here", False),
        ("Wann kam die Sandpiper an?", "Sandpiper arrived in May.", False),
        ("港はいつ作られましたか？", "この港は1890年に作られた。", False),
        ("港はいつ作られましたか？", "The harbour was built in 1890.", True),
        ("When was the harbour built?", "", False),
    ],
)
def test_over_a_text_a_question_is_readable_when_its_words_are_there(question, text, refused):
    assert bool(unreadable(question, ["an other text", text])) is refused


def test_a_word_may_lie_between_two_blocks_of_a_long_text(monkeypatch):
    monkeypatch.setattr("rlm.llm.offline.language.BLOCK_CHARS", 10)
    assert not unreadable("Wann wurde der Hafen gebaut?", ["1234567 Hafen"])
    monkeypatch.setattr("rlm.llm.offline.language.BLOCKS", 2)
    assert unreadable("Wann wurde der Hafen gebaut?", ["x" * 20])
    assert not unreadable("Wann wurde der Hafen gebaut?", ["x" * 21]), (
        "what was not searched may have it"
    )


@given(
    st.text(max_size=60),
    st.sampled_from(["What is {}?", "List the subclasses of {}", "{}", "Was ist {}?"]),
)
def test_any_text_gets_an_answer_and_what_is_understood_is_readable(name, form):
    question = form.format(name)
    assert isinstance(foreign_language(question), str)
    assert not (understand(question) and unreadable(question, ontology=True))
