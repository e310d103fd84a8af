"""Numbers and quotations of answers: invented ones are found, right answers raise no alarm."""

from __future__ import annotations

import time

import pytest

from all_cases import all_cases
from rlm.learning.claims import find_unseen_numbers, find_unseen_quotes
from rlm.loop.trace import numbers_in

pytestmark = pytest.mark.req("PM-04")

SEEN = r"""
{'s': 'harbour:WideHorizon', 'l': 301.5, 'built': '2019-03-04', 'draught': -7.25, 'crew': 24}
{'s': 'harbour:LongHorizon', 'l': 294.0, 'built': '1998-11-30T12:45:00', 'crew': 1,792}
['Budget of unit 13:\n1548 crowns', 'Rev. 2.4.1 of 4 March 2021', 'Room 12A, pier OX-12, gate B7']
Mean 58.7512, share 0.4583, range 388-399 m, 20km/h at 5 °C, 3.2bn EUR, 7 of 16, 388,7 m, 12:30
The years 1914–1918, pages 40–52, ISBN 978-3-16-148410-0, 4.5e6, 10,000 tonnes; the crew's room was
locked for the whole night. total 1792000
"""
QUESTION = "Which 3 craft over 250 m were built before 2020, and who was 1st in the 1990s?"

RIGHT = [
    "WideHorizon, 301.5 m",
    "WideHorizon is 301.5m long.",
    "harbour:WideHorizon is about 302 m long, harbour:LongHorizon 294 m.",
    "It was built on 2019-03-04.",
    "It was built on 4 March 2019.",
    "It was built on March 4, 2019.",
    "Built 04/03/2019 (WideHorizon).",
    "The revision is of 2021-03-04.",
    "The revision is of 4/3/2021.",
    "LongHorizon was built on 1998-11-30.",
    "LongHorizon: built 1998-11-30T12:45:00, crew 1,792.",
    "The draught is -7.25 m.",
    "The draught is −7.25 m, so 7.25m below the line.",
    "The range is 388-399 m.",
    "The range is 388–399m.",
    "Between 388 and 399 metres.",
    "The length is 388,7 m.",
    "It goes 20km/h, or 20 km/h, at 5°C.",
    "The mean is 58.75, or 58.8 rounded.",
    "The share is 46%.",
    "The share is 45.8 %.",
    "7/16 of them, that is 7 of 16.",
    "Turnover: €3.2bn.",
    "The budget of unit 13 is 1548 crowns.",
    "The war of 1914–1918, see pages 40-52.",
    "ISBN 978-3-16-148410-0.",
    "Pier OX-12, Room 12A and gate B7.",
    "It lies at pier OX-99 beside the F-16 and the MiG-29, said of COVID-19 and GPT-4.",
    "It is a 3D model, sent by 5G in 4K.",
    "It came 2nd, then 5th, then 21st.",
    "It was fashionable in the 1980s and the 60s.",
    "It opens at 9am and closes at 5pm.",
    "It is open from 08:15 to 17:45.",
    "It is a 20-foot container with a two-digit number.",
    "Version 9.8.7 and address 192.168.77.5.",
    "See https://x.example/a12/345#678, x:A55 and `v77`.",
    "1. WideHorizon\n2. LongHorizon\n3. AmberDrop\n4. Gull",
    "**1.** WideHorizon\n**2.** LongHorizon\n**3.** AmberDrop\n**4.** Gull",
    "### 1. WideHorizon\nlong\n### 2. LongHorizon\nshort",
    "| # | craft |\n|---|---|\n| 1 | WideHorizon |\n| 2 | LongHorizon |\n| 8 | Gull |",
    "There are two reasons: (1) it is long; (2) it is wide; (8) it is new.",
    "Ships: a, b and c. That makes 3.",
    "- a\n- b\n- c\n- d\n- e\n- f\n- g\n- h\nThat makes 8.",
    "Of the craft over 250 m built before 2020, WideHorizon is the 1st.",
    "10,000 tonnes, or 10000 t, in H2O and CO2.",
    "There are none.",
    "Yes: harbour:Berth is a subclass of harbour:Place.",
    "'The crew's room was locked for the whole night' is what it says.",
    "The ships' crews' rooms and the captain's weren't locked, it's said.",
    "It is called ‘the crew’s room’ there.",
    "“The crew's room was locked … the whole night.”",
    "A crew of 24 (WideHorizon) and one of 1,792 (LongHorizon).",
    "Revision 2.4.1, 4.5e6 units.",
    "Number 13's budget: 1548.",
]


def test_a_sum_or_difference_is_seen_where_the_answer_gives_its_parts():
    seen = {"85", "54", "1200"}
    assert find_unseen_numbers("85 in all: 54 in use, 31 deprecated.", seen) == []
    assert find_unseen_numbers("54 here and 85 there make 139.", seen) == []
    assert find_unseen_numbers("31 are deprecated.", seen) == ["31"]
    assert find_unseen_numbers("85 in all, 31 deprecated.", seen) == ["31"]
    assert find_unseen_numbers("85 in all: 54 in use, 32 deprecated.", seen) == ["32"]


def test_ten_times_a_number_is_seen_with_all_of_its_digits():
    assert find_unseen_numbers("1,774.17 kg, 177.4 of it late.", {"17741.7", "1774"}) == []
    assert find_unseen_numbers("1,774.2 kg", {"17741.7"}) == ["1,774.2"]
    assert find_unseen_numbers("42 kg", {"420"}) == ["42"], "too few digits to tell"


@all_cases("answer", RIGHT)
def test_a_right_answer_raises_no_alarm(answer):
    assert find_unseen_numbers(answer, set(numbers_in(SEEN)), QUESTION) == []
    assert find_unseen_quotes(answer, [SEEN]) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("On 2017-03-04 it was measured.", "2017-03-04"),
        ("On 2019-03-23 it was measured.", "2019-03-23"),
        ("Built 23/03/2019.", "23/03/2019"),
        ("At 2017-03-04T12:30:00 it was measured.", "2017-03-04"),
        ("It is 377m long.", "377m"),
        ("It is 377.7 m long.", "377.7"),
        ("It has 377m² of deck.", "377m²"),
        ("It goes 37km/h.", "37km/h"),
        ("It is -377.7 m long.", "377.7"),
        ("It is −377 m long.", "377"),
        ("Lengths are 377-399 m.", "377-399"),
        ("Lengths are 388–397 m.", "388–397"),
        ("It cost $377.", "377"),
        ("The share is 37%.", "37"),
        ("37/99 of them.", "37/99"),
        ("It is 377,7 m long.", "377,7"),
        ("It grew +377.", "377"),
        ("There are 377.", "377"),
    ],
)
def test_an_invented_number_is_found_in_whatever_form(answer, found):
    assert find_unseen_numbers(answer, set(numbers_in(SEEN)), QUESTION) == [found]


@pytest.mark.parametrize(
    "quoted", ["'{}'", "‘{}’", '"{}"', "“{}”", "«{}»", "„{}“", "It says: '{}', and no more."]
)
def test_an_invented_quotation_is_found_in_whatever_marks(quoted):
    made_up = "the crew's room was open for the whole night"
    assert find_unseen_quotes(quoted.format(made_up), [SEEN]) == [made_up]


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_line_of_many_blanks_is_read_in_no_time(blank):
    started = time.process_time()
    find_unseen_numbers("It is 5.\n" + blank * 19_900 + "so.", {"5"})
    assert time.process_time() - started < 1
