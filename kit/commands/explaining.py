"""``explain``: whether a cluster's own journals, dumps or snapshots obey the model."""

from argparse import Namespace
from collections.abc import Iterator

from kit.commands.answer import GAP, Answer, wrap
from kit.commands.parsing import Command, Word, whole
from kit.edge.writing import check_apart, check_place
from kit.errors import counted
from kit.model import trace
from kit.model.parameters import budgets_in
from kit.operators.explain import BOUND, Answers, explain

STATUS = {"explained": 0, "refuted": 1, "unknown": 2}
ABOUT = """\
Does my cluster obey the model? A search over the unseen steps tries to explain, in order, what was
seen. The answer is explained (with a run that you can open), refuted (no rule explains a line, and
you see the model's nearest refusal), or unknown: within the bound, or why something failed.
"""
AFTER = """\
FILE is a journal of a topology coordinator (several are merged in time order), a snapshot of
scylla-tablets (a folder or an archive; ordered by topology version), or a dump of system.topology
or system.tablets (in the order given). All files must be of one kind and from one cluster. FILE can
also be a metadata log (nodetool cms dumplog), together with what the log does not contain:
dumpdirectory --tokens, rows of system_schema.keyspaces, rows of system_views.data_placements.

Exits with 0 when everything is explained, 1 when a line is refuted, and 2 when the answer is
unknown, or on bad input.

examples
  python -m kit explain node-a.log node-b.log
  python -m kit explain tablet_snap_261124_100000 tablet_snap_261124_101000.tar.gz --anonymize
  python -m kit explain node-a.log --html run.html --save run.json
  python -m kit explain metadata-log.txt directory.txt keyspaces.json
"""


def _explain(given: Namespace) -> Answer:
    for option in ("html", "save"):
        if getattr(given, option) is not None:
            check_place(getattr(given, option), f"--{option}", inputs=tuple(given.files))
    if given.save is not None and given.html is not None:
        check_apart(given.save, given.html, "--save")
    options = {"bound": given.bound, "edition": given.edition, "release": given.release}
    answers = explain(given.files, **options, anonymize=given.anonymize, progress=True)
    if given.save is not None:
        trace.write(answers.timeline().save(), given.save)
    if given.html is not None:
        from kit.views.export import export_html

        export_html(answers.timeline(), given.html, field="--html")
    data = {
        "verdict": answers.verdict,
        "about": answers.about,
        "parts": {name: part.as_plain() for name, part in answers.parts.items()},
        "anonymized": given.anonymize,
    }
    heading = answers.about[:1]
    return Answer(data, heading, _parts(answers), answers.about[1:], STATUS[answers.verdict])


def _parts(answers: Answers) -> Iterator[str]:
    if not answers.parts:
        yield "explained: nothing changes, so there is nothing to explain"
    for name, part in answers.parts.items():
        yield from wrap(part.sentence, f"{name}: ", GAP)
        if part.verdict == "refuted":
            seen = counted(part.explained, "observation")
            budgets = budgets_in(part.model.parameters).removeprefix("; with ")
            yield from wrap(f"explained before it: {seen}; assumed: {budgets}", GAP, GAP)


WORDS = (
    Word("files", "FILE", "journals, snapshots, table dumps, or a log", number="+"),
    Word(
        "--bound",
        "N",
        f"the most states to visit for each journal, table or tablet (default: {BOUND:,})",
        BOUND,
        read=whole,
    ),
    Word(
        "--edition",
        "",
        "server: the published server; documents: as the documents say (default: server)",
        "server",
        choices=("documents", "server"),
    ),
    Word("--release", "R", "the release of ScyllaDB, such as 2026.1 (default: the newest)", ""),
    Word("--anonymize", "", "for snapshots: replace names with pseudonyms before showing anything"),
    Word("--html", "OUT", "write the run as one page to step through"),
    Word("--save", "OUT", "write the run as a trace, for kit play"),
)
EXPLAIN = Command("explain", _explain, WORDS, ABOUT, AFTER)
