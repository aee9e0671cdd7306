"""The files of stories as they would be written today."""

from __future__ import annotations

from pathlib import Path

from kit.model.scenario import RULE, parse, read, run


def rewritten(path: str | Path) -> str:
    """The file's text, in today's words, with what is really shown below each rule.

    Raises BadInput as for ``open_file``.
    """
    script = parse(read(path), str(path))
    _, shown = run(script)
    blocks = [[line.text for line in script.header]]
    for step, texts in zip(script.steps, shown, strict=True):
        blocks.append([*(line.text for line in step.above), RULE, *texts])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"
