"""The drill of a recovery: the whole procedure, and wrong walks graded as the model says."""

from __future__ import annotations

import pytest

from kit.console.drill import Drill
from tests.drills import errors, failed, replayed
from tests.protocols.recovery.drill.walks import (
    DEAD,
    DELETE,
    DELETE_HERE,
    DRILL,
    READ,
    RESTARTS,
    WHOLE,
    lead,
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
