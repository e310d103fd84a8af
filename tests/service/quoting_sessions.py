"""Sessions that quote memories, in as many ways as a quotation can be changed and still is one."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator

from transcript_making import ClaudeTranscript

RULES = (
    "Never retry a charge after a timeout from the payment provider.",
    "Invoices are rounded per tax rate and half up, the rest goes to the largest line.",
    "From now on run the migrations before the tests, always with the flag fake.",
    "Uploads are retried three times with a pause of 200 ms, then parked.",
    "The threshold applies after merging the variants of a product.",
    "We use pnpm in this repo and never npm.",
    "Don't reformat files that the change does not touch.",
    "Deleted accounts stay in the archive for 90 days and are then removed everywhere.",
    "Only the on-call engineer may set the label hotfix on a pull request.",
    "Prices in the API always include the tax of the customer's country.",
    "Let's keep the session cache in Postgres because Redis is flushed on deploy.",
    "All dates in the interface follow the locale of the user.",
    "A downgrade waits for the renewal without a credit and without a refund.",
    "Commit messages are in English, in the imperative and at most 72 characters long.",
    "No inline styles in the frontend, spacing comes from the tokens.",
    "Für neue Endpunkte gilt ab sofort, dass Fehler immer als JSON kommen.",
    "Les remboursements passent toujours par le support et jamais par l'application.",
    "A partir de ahora el número de factura se asigna al emitir la factura.",
    "Tests must not touch the network, use the fake in tests/fakes instead.",
    "Backups are encrypted with our own key, which is never on the same server.",
)

Change = Callable[[str, random.Random], str]
"""How a quotation is changed."""


def _typo(text: str, chance: random.Random) -> str:
    words = text.split()
    long = [place for place, word in enumerate(words) if word.isalpha() and len(word) > 4]
    place = chance.choice(long)
    at = chance.randrange(1, len(words[place]) - 2)
    word = words[place]
    words[place] = chance.choice([
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
    ])  # fmt: skip
    return " ".join(words)


def _wrap(text: str, chance: random.Random) -> str:
    words = text.split()
    width = chance.randrange(4, 7)
    return "\n".join(" ".join(words[at : at + width]) for at in range(0, len(words), width))


def _half(text: str, chance: random.Random) -> str:
    words = text.split()
    cut = max(4, len(words) // 2)
    return " ".join(words[:cut] if chance.random() < 0.5 else words[-cut:])


CHANGES: tuple[Change, ...] = (
    lambda text, _: text,
    lambda text, _: text.upper(),
    lambda text, _: text.lower().rstrip("."),
    lambda text, _: text.title(),
    lambda text, _: f"“{text}”",
    lambda text, _: f"'{text}'",
    lambda text, _: f"«{text}»",
    lambda text, _: f"**{text}**",
    lambda text, _: f"_{text}_",
    lambda text, _: f"`{text}`",
    lambda text, _: f"> {text}",
    lambda text, _: f"- {text}",
    lambda text, _: f"3. {text}",
    lambda text, _: f"| {text} |",
    lambda text, _: f"<b>{text}</b>",
    lambda text, _: f"```\n{text}\n```",
    lambda text, _: f"[[{text}]]",
    lambda text, _: text.replace(" ", "  "),
    lambda text, _: text.replace(" ", "\u00a0"),
    lambda text, _: text.replace("e", "e\u200b"),
    lambda text, _: unicodedata.normalize("NFD", text),
    lambda text, _: text.replace("'", "\u2019").replace("-", "\u2011"),
    lambda text, _: text.replace(",", "").replace(".", ""),
    lambda text, _: text.replace(",", " -").replace(".", "!"),
    lambda text, _: text.rstrip(".") + "…",
    lambda text, _: "…" + text,
    lambda text, _: text.rstrip(".") + "?",
    lambda text, _: f"{text} {text}",
    _typo,
    _wrap,
    _half,
    lambda text, chance: _typo(text.upper(), chance),
    lambda text, chance: _half(f"{text.lower()}", chance),
)
FRAMES = (
    "{}", "As memory says: {}", "memory says {}", "You told me: {}", "the note says {}",
    "It says here: {}", "{} That's what the memory says, right?", "{} (from memory)", "Recalled: {}",
    "Hook output: {}", "see the reminder: {}", "I read in your notes: {}", "Quote: {}",
    "{}\nthat is from your memory", "what do you make of this: {}", "ok so {}", "Decision: {}",
    "as we said, {}", "laut memory: {}", "según la memoria: {}", "d'après la mémoire : {}",
    "{} (2026-05-04, session abc)", "Please remember: {}", "right, {}", "Yes: {}",
)  # fmt: skip


def quoting_sessions(
    count: int, seed: int = 5, *, injected: bool = False
) -> Iterator[ClaudeTranscript]:
    """So many sessions, each of which quotes one or two rules and decides nothing. With `injected`
    a hook has told the rules to the agent of this very session."""
    chance = random.Random(seed)
    for number in range(count):
        rule, other = chance.sample(RULES, 2)
        change = CHANGES[number % len(CHANGES)]
        frame = FRAMES[(number // len(CHANGES) + number) % len(FRAMES)]
        quoted = frame.format(change(rule, chance))
        made = ClaudeTranscript(f"quote{number}").user("Look at the open ticket.")
        if injected:
            made.user(f"<system-reminder>{rule}\n{other}</system-reminder>", isMeta=True)
        if number % 5 == 4:  # the agent quotes, and the person agrees
            made.says(f"Memory has this: {change(rule, chance)}").user(chance.choice(AGREED))
        elif number % 5 == 3:
            made.says(f"I'd suggest: {rule}").user(quoted).says(other).user("ok, do that")
        else:
            made.says(chance.choice(SAID)).user(quoted)
        yield made.says("I see.")


AGREED = ("yes, do that", "ok", "exactly", "right, as it says", "yes", "do it", "agreed")
SAID = ("I did.", "What should I do?", "How is it to be?", "Done.", "Which rule applies here?")
