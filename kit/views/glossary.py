"""Words of the glossary in a text of the Player: a press on one says what it means."""

from functools import cache

from kit.catalogue.glossary import finder, lesson_title, words
from kit.views.fragment import PRESSED, Frag, Kid, h


class Marker:
    """Marks the words of a model's texts so that they can be pressed, each where it is first."""

    def __init__(self, model: str) -> None:
        self.finder = finder(model)
        self.met: set[str] = set()

    def __call__(self, text: str) -> list[Kid]:
        """Split a text into what stands around its words and a button for each."""
        kids: list[Kid] = []
        done = 0
        for word, begin, end in self.finder.find(text):
            if word not in self.met:
                self.met.add(word)
                kids += [text[done:begin], _button(word, text[begin:end])]
                done = end
        return [*kids, text[done:]]


def _button(word: str, text: str) -> Frag:
    meant = meaning(word)
    return h("button", text, type="button", class_=PRESSED, data_do="word", data_means=meant)


@cache
def meaning(word: str) -> str:
    """What is said of a word: its meaning, its lesson, and how to see its picture."""
    entry = words()[word]
    title = lesson_title(entry.lesson)
    lesson = f"Lesson {title}." if title else ""
    picture = "Picture: {what}".format(what=f'kit.glossary("{word}")')
    return "\n".join(filter(None, [f"{word}: {entry.means.replace('`', '')}", lesson, picture]))
