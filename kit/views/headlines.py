"""The headline of a step: what happened here, in at most twelve words, and never the same twice.

A family writes those of its great moments itself, those of its breaks, and what holds after a step
(``data/words.toml``); all others are the first clause of what is told of the step (``describe``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.model.family import model_places
from kit.model.model import Safeguard
from kit.model.timeline import PassedStep
from kit.model.vet import is_own
from kit.views.panel import Scene

PLACE = Path("data", "words.toml")
"""In the folder of a family: its own words."""

MOST_WORDS = 12
"""Of a headline."""
LEAST_WORDS = 3
"""Of a headline that ends where a sentence goes on."""
_SENTENCE = re.compile(r"(?<=[.;])\s")
_KNOWS = re.compile(r"^(?P<who>\w+), at (?P<what>(?:epoch|version) \d+), ")
_CUTS = re.compile(
    r": |, which "
    r"|,? and (?=(?:then |now |still |already )?(?:\w{3,}s|is|has|will|was) )"
    r"|,? and (?=\w+ (?:is|was|has|will|sees|reports|answers|alone))"
    r"|, and (?=\w)|, (?=(?!it )[a-z]|[A-Z]\w* (?:is|has) )| but (?=\w)"
    r"| (?=while |because |with |at |for epoch |for ranges |which nodes |that (?:its|are) |\()"
)
"""Where a sentence may end earlier: what follows is told below the headline."""
_RESULT = re.compile(r", so (?!they )")
_OPEN = re.compile(r", (?:still )?\w{3,}s (?!.*,? and )|tells its client$|“[^”]*$|\([^)]*$")
"""Where a head should not end: between verbs, in a quotation, after how it happened."""
_FIRST = re.compile(
    r"[;:.(](?:\s|$)|,(?= [a-z]{2,} )| and(?= [a-z]+s )"
    r"| (?:since|because|although|but|while|until|as) "
)
"""Where what somebody does ends: behind it stands what comes of it."""
_ASIDE = re.compile(r" \([^()]*\)")
MOST_LETTERS = 56
"""Of what an action does: two lines of a button."""
_STATE = re.compile(r"^(?:.*: )?((?<=: )[a-z]\w+|[a-z]+_\w+)$")
_ABOUT = re.compile(r"\b(epoch|version) (\d+)")
BEGIN, AGAIN = "It begins", "The same again"
"""The first chapter, where it has no other name; and that of what an earlier one was about."""
Facts = Callable[[Scene], Iterable[str]]
"""Lines about a moment: what the words of a family are chosen by, beside what is told."""
_VERB = re.compile(
    r"(?!nodes|\w+ can )(?:then |now |still |already )?(?:\w{3,}s|is|has|was|did|will)\b"
)


class Words(Struct, frozen=True):
    """The own words of a model: each pattern of what is told, with what it becomes.

    ``headlines`` are of steps, and ``seconds`` are what holds after them, told below. A step that
    tells of ``epoch 3`` is matched with what was told of that epoch, on a line of its own; then
    come the family's facts of the state, a line each. ``breaks`` are of witnesses, by the name of
    the promise: a pattern, the headline, two facts, and so on. ``chapters`` are of a step's
    milestone, what is told of it, and the milestone of the step before, on a line each. ``without``
    says what would be otherwise without a safeguard (``nobody waited``), ``siblings`` which story
    of the other database is like one of these; ``ends`` what a story has shown at its end, and why
    it came so, ``gates`` what stands above a gate by its step, what is to be known, and where, a
    line each, ``cast`` the role of somebody by what a picture says of it. A model of several
    worlds uses the words of each world's own model: ``within`` has the name of the world, what
    begins a sentence about it, its name in a headline, and the model. ``like``: models whose
    headlines serve this one as well.
    """

    headlines: Mapping[str, str] = {}
    seconds: Mapping[str, str] = {}
    breaks: Mapping[str, Sequence[str]] = {}
    chapters: Mapping[str, str] = {}
    without: Mapping[str, str] = {}
    siblings: Mapping[str, str] = {}
    ends: Mapping[str, tuple[str, str]] = {}
    cast: Mapping[str, str] = {}
    gates: Mapping[str, str] = {}
    within: Sequence[tuple[str, str, str, str]] = ()
    like: Sequence[str] = ()

    def abridge(self, say: str) -> str:
        """The same with each world's name as in a headline."""
        for _, begin, short, _ in self.within:
            say = say.replace(begin, f"{short}: ")
        return say


@cache
def words_of(name: str) -> Words:
    """The words that the family of a model has for it."""
    family, _ = model_places().get(name, (None, ""))
    file = family.folder / PLACE if family else PLACE
    if not file.exists():
        return Words()
    read = msgspec.toml.decode(file.read_text(encoding="utf-8"), type=dict[str, Words])
    words = read.get(name, Words())
    headlines, gates = {**words.headlines}, {**words.gates}
    breaks, cast = {**words.breaks}, {**words.cast}
    for other in map(words_of, words.like):
        headlines = {**headlines, **other.headlines, **headlines}  # its own come first
        gates = {**gates, **other.gates, **gates}
    for world, _, short, model in words.within:
        inner = words_of(model)
        for own, begin, theirs in (
            (headlines, short, inner.headlines), (gates, world, inner.gates)
        ):  # fmt: skip
            for pattern, said in theirs.items():
                own[f"{begin}: (?:{pattern})"] = f"{short}: {small(said)}"
        breaks |= {f"{world}:{promise}": rows for promise, rows in inner.breaks.items()}
        cast |= inner.cast
    return replace(words, headlines=headlines, breaks=breaks, cast=cast, gates=gates)


def told_as(own: Mapping[str, str], text: str) -> str:
    """What a text becomes by the first pattern that it matches; empty if by none."""
    matches = ((re.match(pattern, text, re.MULTILINE), words) for pattern, words in own.items())
    return next((capital(match.expand(words)) for match, words in matches if match), "")


def chapter(name: str, milestone: str, text: str, begun: Sequence[str]) -> str:
    """The name of the chapter that a step begins, or empty: the family's words for its milestone
    or what is told of it, else its milestone; below, the exact name of the state, if it is one.

    ``text`` is what is told, and the milestone of the step before. ``begun`` are the chapters
    before: the first step begins one, and none has the name of another.
    """
    plain = milestone
    for pattern, words in words_of(name).chapters.items():
        if match := re.match(pattern, f"{milestone}\n{text}", re.MULTILINE):
            plain, exact = match.expand(words), _STATE.search(milestone)
            plain += f"\n{exact[1]}" if plain and exact and "\n" not in plain else ""
            break
    plain = capital(plain) if plain else plain
    if not begun:
        return plain or BEGIN
    again = AGAIN if plain in begun[:-1] else plain
    return "" if again == begun[-1] else again


def break_told(name: str, promise: str, witness: str) -> tuple[str, ...]:
    """The headline of a broken promise and its facts, where the family has its own."""
    for pattern, *words in zip(*[iter(words_of(name).breaks.get(promise, ()))] * 4, strict=True):
        if match := re.match(pattern, witness):
            return tuple(capital(match.expand(each)) for each in words)
    return ()


def what_if(name: str, safeguard: Safeguard) -> str:
    """The question about a model without a safeguard."""
    return f"What if {words_of(name).without.get(safeguard.name, f'{safeguard.id} were off')}?"


def headline(say: str) -> tuple[str, str]:
    """The first clause of what happened, and the rest of it, where a sentence is too long."""
    first, *rest = _SENTENCE.split(say, maxsplit=1)
    further = " ".join(rest)
    if len(first.split()) > MOST_WORDS:
        ways = [
            (bool(_OPEN.search(head)), more[:1].islower(), -len(head.split()), head, capital(more))
            for head, more in _cut(first.rstrip(".;"))
            if LEAST_WORDS <= len(head.split()) <= MOST_WORDS
        ]
        if ways:
            *_, head, more = min(ways, key=lambda way: way[:3])
            return head, capital(" ".join(filter(None, [more, further])))
    return first.rstrip(".;"), capital(further)


def act_words(scene: Scene, action: Any) -> str:
    """What an action does, as the begin of what will be told of it, or as its headline; else its
    command, as for a model that is not the kit's: what that does is not known before it is done.
    """
    model, before = scene.model, scene.state
    after = model.act(before, action) if is_own(model) else before
    say = model.describe(before, action, after) if is_own(model) else ""
    words = words_of(model.name)
    say = words.abridge(say)
    plain = _ASIDE.sub("", _KNOWS.sub(r"\g<who> ", say))
    own = told_as(words.headlines, say)
    ways = (_FIRST.split(plain, maxsplit=1)[0], headline(plain)[0], own)
    for whole in sorted(ways, key=lambda way: "_" in way):  # what a newcomer reads, if there is it
        clause = whole.rstrip(".")
        is_head = plain[len(whole) :].startswith(":") and not _VERB.search(clause)
        few = len(clause.split()) < LEAST_WORDS or is_head
        if not few and len(clause) <= MOST_LETTERS:
            return clause
    label: str = model.label(before, action)
    return label


def _cut(first: str) -> Iterator[tuple[str, str]]:
    """The ways to tell a long sentence as a short one, and what is left of it."""
    known = ""
    if knowing := _KNOWS.match(first):
        first = f"{knowing['who']} {first[knowing.end() :]}"
        known = f"{knowing['who']} is at {knowing['what']}."
        yield first, known
    for cut in _RESULT.finditer(first):
        result = first[cut.end() :]
        if result.startswith("it "):
            result = f"{_subject(first)} {result[3:]}"
        if not result.startswith("It "):
            yield capital(result), f"{capital(first[: cut.start()])}. {known}".rstrip()
    for cut in _CUTS.finditer(first):
        head, more = first[: cut.start()], first[cut.end() :].removeprefix("that ")
        if more.startswith("("):
            inside, _, after = more[1:].partition(")")
            then = f"{inside}. {_subject(first)} {after[2:]}"
            more = then if _VERB.match(after[2:]) else more if after else inside
        if cut[0] == ", which ":
            more = f"{head.split()[-1]} {more}"
        elif _VERB.match(more):
            more = f"{_subject(first)} {more}"
        if cut[0] != " ":  # the others cut a phrase off: only where there is no other way
            more = capital(more)
        yield head.rstrip(","), f"{more}. {known}".rstrip()


def _subject(sentence: str) -> str:
    """Who does it: the name that a sentence begins with, or else *it*."""
    word, second, *_ = sentence.split()
    if word == "The" and second.islower():
        return f"{word} {second}"
    return word if word.isalnum() and word.upper() == word and second != "and" else "It"


def capital(words: str) -> str:
    """The same as the begin of a sentence, unless it begins with a name (``ks``)."""
    word = words.partition(" ")[0].rstrip(":,")
    is_plain = word == "a" or (len(word) > 1 and word.isalpha() and word.islower())
    return words[0].upper() + words[1:] if is_plain else words


def small(words: str) -> str:
    """The same within a sentence, unless it begins with a name."""
    return words[:1].lower() + words[1:] if words[1:2].islower() else words


def headline_of(scene: Scene, facts: Facts = lambda scene: ()) -> tuple[str, str]:
    """The headline of a step and what else is told of it.

    One that the step before has already says which time it is.
    """
    head, rest = _parts(scene, facts)
    times, earlier = 1, scene
    while (before := _earlier(earlier)) and _parts(before, facts)[0] == head:
        times, earlier = times + 1, before
    if times == 1:
        return head, rest
    said = f"{head}, {times} times"
    return (said, rest) if len(said.split()) <= MOST_WORDS else (f"{times} times by now", scene.say)


def _parts(scene: Scene, facts: Facts) -> tuple[str, str]:
    words = words_of(scene.model.name)
    text = short = words.abridge(scene.say)
    about = _ABOUT.search(text) if words.headlines else None
    if about:
        head = f"{about[1].capitalize()} {about[2]}: "
        before = (_description(scene, step) for step in scene.way()[-2::-1])
        text += "\n" + next((said for said in before if said.startswith(head)), "")
    text = "\n".join((text, *facts(scene)))
    written = told_as(words.headlines, text)
    fits = 0 < len(written.split()) <= MOST_WORDS
    head, rest = (written, scene.say) if fits else headline(short)
    return head, f"{rest} {told_as(words.seconds, text)}".strip()


def _description(scene: Scene, step: PassedStep) -> str:
    said: str = scene.model.describe(step.before, step.action, step.after)
    return said


def _earlier(scene: Scene) -> Scene | None:
    """The step before."""
    way = scene.way()[:-1]
    if not way:
        return None
    last, say = way[-1], _description(scene, way[-1])
    return Scene(scene.model, last.after, last.before, last.action, say, past=lambda: way)
