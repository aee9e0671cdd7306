"""``kit.glossary("fence")``: what a word means, its picture, and the lesson that explains it."""

from msgspec import Struct

from kit.catalogue.glossary import Entry, drawing_file, entry, lesson_file, lesson_title, words
from kit.edge.arguments import checked
from kit.lessons.stills import Still, still
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.views.fragment import Frag, escape, h
from kit.views.parts import prose
from kit.views.registry import for_model
from kit.views.static import Sheet, Shown, file_image, static_html

HEADS = "word", "what it means"
ABSENCE = (
    "Who says so: {what}.",
    "Who knows it: {what}.",
    "Does a barrier wait for it? {what}.",
    "Can it come back? {what}.",
)


def timeline_at(entry: Entry) -> Timeline | None:
    """The story that shows a word, at the step that does; None: a drawing does, or nothing."""
    if entry.scene is None:
        return None
    name, step = entry.scene
    if name in files():
        timeline = open_file(files()[name])
        timeline.goto(step)
        return timeline
    timeline = open_named(name).timeline
    for _ in range(step):
        timeline.forward()
    return timeline


class Explained(Struct, Shown, frozen=True):
    """A word of the glossary, as a notebook or a terminal shows it."""

    word: str
    entry: Entry

    @property
    def lines(self) -> list[str]:
        """The meaning of the word, and for a node that is not there the four answers."""
        absence = self.entry.absence
        answers = absence.answers if absence else ()
        return [self.entry.means, *map(_filled, ABSENCE, answers)]

    @property
    def lesson(self) -> str:
        """Which lesson explains it; empty: none does."""
        title = lesson_title(self.entry.lesson)
        return f"Lesson {title}" if title else ""

    def still(self) -> Still | None:
        """The step of a story that shows it: the picture of the Player."""
        timeline = timeline_at(self.entry)
        picture = for_model(timeline.model).picture if timeline else ""
        return still(timeline, *[picture] * bool(picture)) if timeline else None

    def caption(self) -> str:
        """The content of the picture, in words."""
        if (timeline := timeline_at(self.entry)) is None:
            return f"images/{self.entry.picture}"
        name, step = self.entry.scene or ("", 0)
        return f"{name}, step {step}: {timeline.moments[timeline.at].say}"

    def draw(self) -> Frag:
        """The word, what it means, and its picture with the same in words."""
        lines = [h("p", prose(line)) for line in self.lines]
        shown = self.still()
        file = drawing_file(self.entry.picture)
        alt = f"a drawing of {self.word}"
        drawn = shown.draw() if shown else file and file_image(file, alt)
        return h("div", h("h4", self.word), lines, drawn or None)

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        file, link = lesson_file(self.entry.lesson), ""
        if file:  # a fragment has no links: this one is to a notebook beside the reader's own
            link = f'<p><a href="{escape(file.name)}">{escape(self.lesson)}</a></p>'
        drawn = static_html(self.draw()).removesuffix("</div>")
        return {"text/plain": repr(self), "text/html": f"{drawn}{link}</div>"}

    def __repr__(self) -> str:
        picture = f"Picture: {self.caption()}" if self.entry.picture else ""
        return "\n".join(filter(None, [self.word, *self.lines, picture, self.lesson]))


def _filled(words: str, what: str) -> str:
    return words.format(what=what if ":" in words else what[0].upper() + what[1:])


@checked
def glossary(word: str | None = None) -> Explained | Sheet:
    """Say what a word means, with its picture and its lesson. Without a word, show all words.

    Raises BadInput for a word that the glossary does not have, naming those nearest to it.
    """
    if word is not None:
        return Explained(*entry(word))
    return Sheet("Glossary", HEADS, sorted_words())


def sorted_words() -> tuple[tuple[str, str], ...]:
    """Every word with what it means, in the order of the alphabet."""
    return tuple((word, words()[word].means) for word in sorted(words(), key=str.casefold))
