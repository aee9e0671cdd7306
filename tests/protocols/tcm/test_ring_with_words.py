"""The ring of the first lesson says what its parts are, and says so without a screen too."""

from __future__ import annotations

from kit.protocols.tcm.panels.images import pictures

SAID = {
    "Ring": "the line ends at 400",
    "Epoch": "the newest event in the log",
    "Apply": "C has applied epoch 1",
    "Replicas": "of (200, 300]: C, A",
    "Write group": "X gets writes but no reads yet",
    "Read group": "A and B answer reads",
    "Token": "A owns 100",
    "Range": "(100, 150] includes its right end",
}


def test_each_word_has_a_line_and_is_in_the_text_alternative() -> None:
    """Eight words with what the run says of them, each with a line that leads into the ring."""
    drawn = dict(pictures())
    with_words, plain = drawn["ring-words"], drawn["ring"]
    label = with_words.partition('aria-label="')[2].partition('"')[0]
    assert label == f"token ring. {'; '.join(f'{word}: {line}' for word, line in SAID.items())}"
    for word, line in SAID.items():
        assert f">{word}</text>" in with_words
        assert f">{line}</text>" in with_words
    assert with_words.count('class="wire"') - plain.count('class="wire"') == len(SAID)
