"""The drill of a recovery: whole and wrong walks graded as the model says; one is needless."""

from __future__ import annotations

import pytest

from kit.console.drill import Drill
from tests.drills import errors, failed, replayed, typed
from tests.protocols.recovery.drill.walks import (
    DEAD,
    DELETE,
    DELETE_HERE,
    DRILL,
    READ,
    RESTARTS,
    UNSET,
    WHOLE,
    host,
    lead,
    on_each,
    removal,
    walked,
)
from tests.protocols.recovery.drill.wrong_walks import BEGUN, WRONG


@pytest.mark.spec("G-026")
@pytest.mark.parametrize("edition", WHOLE)
def test_the_whole_procedure_passes(edition: str) -> None:
    """Each step is ticked, nothing was refused, and it took as many steps as there are."""
    drill = walked(edition, *WHOLE[edition])
    assert errors(drill) == []
    assert failed(drill) == {}
    assert drill.grade().passed
    assert [step.name for step in drill.checklist() if not step.done] == []
    [steps] = [row.why for row in drill.grade().rows if row.name == "steps"]
    taken, needed = (int(word) for word in steps.split() if word.isdecimal())
    assert taken == needed


def test_a_leader_that_knows_less_is_no_tick() -> None:
    """A has index 10 and B 11; a leader that is corrected in time has its tick."""

    def ticked(*lines: str) -> tuple[bool, str]:
        [step] = [each for each in walked("documents", *lines).checklist() if each.name == "choose"]
        return step.done, step.what.rpartition(": ")[2]

    begun = [*DELETE, *READ]
    assert ticked(*begun) == (False, walked("documents").checklist()[1].what)
    assert ticked(*begun, *lead("A")) == (False, "not A")
    assert ticked(*begun, *lead("A"), *lead("B")) == (True, "B")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_walk_is_graded_as_the_model_says(name: str) -> None:
    """The mistake plays out or is refused; the grade names what is wrong with the cluster then."""
    wrong = WRONG[name]
    drill = walked(wrong.edition, *wrong.lines)
    found = failed(drill)
    assert found.keys() == wrong.failed.keys()
    assert all(words in found[row] for row, words in wrong.failed.items()), found
    refused = errors(drill)
    assert (refused[-1] if refused else "") == wrong.refused
    assert not drill.grade().passed


def test_one_may_recover_a_second_time() -> None:
    """The leader dies with its group's majority: A is named, deletes the new id, leads itself."""
    begun = [*BEGUN, *lead(), *RESTARTS, "happen die B", "on A"]
    drill = walked("documents", *begun, DELETE_HERE[0])
    said = "group 2 is not given up: set another recovery leader first"
    assert errors(drill) == [said]
    drill = walked("documents", *begun, *lead("A", "A"), *DELETE_HERE, "restart A")
    assert errors(drill) == []
    assert drill.transcript[-1].said[-1].startswith("A is the recovery leader and creates group 3")


@pytest.mark.spec("G-030")
def test_removing_needs_the_others_ignored() -> None:
    """The option is typed: without it the request fails, with it it succeeds."""
    drill = walked("documents", *BEGUN, *lead(), *RESTARTS, removal(*DEAD, ignore=False)[0])
    assert errors(drill) == ["other nodes are dead but not ignored (D, E)"]
    assert drill.enter(removal(*DEAD)[0]).said == ("The operator removes C and ignores D, E.",)


@pytest.mark.spec("G-030")
def test_replacing_needs_the_others_ignored() -> None:
    """A new node in the place of C; without the option it is told who is dead."""
    c, d, e = (line.split()[-1] for line in removal(*DEAD, ignore=False))
    begun = [*BEGUN, *lead(), *RESTARTS]
    word = f"new-node --replace-node-first-boot {c}"
    drill = walked("documents", *begun, word)
    assert errors(drill) == ["other nodes are dead but not ignored (D, E)"]
    drill.enter(f"{word} --ignore-dead-nodes-for-replace {d}, {e}")
    assert "A new node takes the place of C" in drill.transcript[-1].said[0]
    drill.enter("nodetool status")
    assert any("UN 10.0.0.113" in line for line in drill.transcript[-1].lines)


@pytest.mark.parametrize(
    ("ignored", "stopped", "said"),
    [
        ("A", "", "a node to ignore is alive (A)"),
        ("DEB", "", "a node to ignore is alive (B)"),
        ("DAB", "", "a node to ignore is alive (A)"),
        ("DEB", "stop B", "B is not given up: start it, or let it die first"),
        ("D", "", "other nodes are dead but not ignored (D, E)"),
    ],
)
@pytest.mark.parametrize("replaces", [False, True])
def test_nobody_ignores_a_node_that_lives(
    ignored: str, stopped: str, said: str, replaces: bool
) -> None:
    """That would ban it: the server refuses such a removal or replace at once."""
    hosts = {
        name: line.split()[-1]
        for name, line in zip("ABCDE", removal(*"ABCDE", ignore=False), strict=True)
    }
    command = f"nodetool removenode {hosts['C']} --ignore-dead-nodes "
    if replaces:
        option = "--ignore-dead-nodes-for-replace"
        command = f"new-node --replace-node-first-boot {hosts['C']} {option} "
    rest = ", ".join(hosts[name] for name in ignored)
    begun = [*BEGUN, *lead(), *RESTARTS, *filter(None, [stopped]), "on A"]
    drill = walked("documents", *begun, command + rest)
    assert errors(drill)[-1] == said


def test_the_grade_is_a_function_of_the_run() -> None:
    """Replayed on a new history the same run has the same grade, whatever was typed."""
    drill = walked("documents", *WRONG["the wrong leader"].lines, "help", "nonsense")
    assert replayed(drill, DRILL["documents"]).grade() == drill.grade()


def test_the_past_may_be_gone_on_from() -> None:
    """A command typed in the past forks; both branches are there, and nothing of the transcript is
    lost.
    """
    drill: Drill = walked("documents", *WRONG["the wrong leader"].lines)
    typed = len(drill.transcript)
    before = next(each.moment for each in drill.transcript if each.typed == "restart A") - 2
    drill.timeline.goto(before)
    drill.enter("checklist")
    drill.enter("stop B")
    assert len(drill.timeline.branches()) == 2
    assert len(drill.transcript) == typed + 2


TWO_DEAD = "CD"


FENCE = ["firewall drop 10.0.0.13, 10.0.0.14"]


LOOK = ["SELECT * FROM system.raft_state;"]


REPLACE = [
    f"new-node --replace-node-first-boot {host('C')} --ignore-dead-nodes-for-replace {host('D')}",
    f"new-node --replace-node-first-boot {host('D')}",
]


RECOVERY = [*FENCE, *READ, *DELETE, *lead(), "restart B", "restart A", *removal(*TWO_DEAD), *UNSET]


NEEDLESS = (
    "a majority of the voters was alive: no need to remove the group id and discovery state of A"
)


# what is typed -> passed, what the grade says of it
WALKS = [
    ([*LOOK, *removal(*TWO_DEAD)], True, "the group that had a majority carried on"),
    ([*LOOK, *REPLACE], True, "the group that had a majority carried on"),
    ([*FENCE, *READ, *LOOK, *removal(*TWO_DEAD)], True, "the group that had a majority carried on"),
    (LOOK, False, "dead, but neither removed nor replaced: C, D"),
    (RECOVERY, False, NEEDLESS),
    ([*READ, *DELETE[:3], "restart A"], False, NEEDLESS),
    (
        [*READ, *lead()[:2], *removal(*TWO_DEAD)],
        False,
        "a majority of the voters was alive: no need to choose B",
    ),
]


def drill(*lines: str) -> Drill:
    """The drill after these lines."""
    return typed("recovery/majority-lives", *lines)


@pytest.mark.parametrize(("lines", "passed", "words"), WALKS)
def test_a_recovery_without_need_is_wrong(lines: list[str], passed: bool, words: str) -> None:
    """To look, to read and to cut off the dead harm nobody; to begin the procedure is graded."""
    grade = drill(*lines).grade()
    assert grade.passed is passed
    assert any(words in row.why for row in grade.rows)


def test_a_recovery_of_a_majority_that_died_is_not_without_need() -> None:
    """A dies as well: only then is an id deleted."""
    rows = drill("happen die A", "on B", *READ[2:], *DELETE[3:]).grade().rows
    assert [row.holds for row in rows if row.name == "no needless recovery"] == [True]


def test_without_a_majority_nothing_is_removed() -> None:
    """A dies as well: the group cannot change, so that now the procedure is right."""
    under_way = drill("happen die A", *on_each(*removal(*TWO_DEAD)[:1], names="B"))
    assert "majority" in under_way.transcript[-1].error
