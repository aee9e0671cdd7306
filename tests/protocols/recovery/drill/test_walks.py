"""The drill of a recovery: the whole procedure, and wrong walks graded as the model says."""

from __future__ import annotations

import pytest

from kit.console.drill import Drill, checklist_lines
from tests.drills import errors, failed, replayed
from tests.protocols.recovery.drill.walks import (
    CLEAN,
    DEAD,
    DELETE,
    DELETE_HERE,
    DRILL,
    FIRST_RESTARTS,
    ISOLATE,
    LOOK,
    NOTE,
    READ,
    RESTARTS,
    UNSET,
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


def test_a_rolling_restart_first_is_ticked() -> None:
    """In the manual's order live nodes are restarted before anything is deleted."""
    drill = walked("server", "restart A", "restart B")
    assert {step.name: step.done for step in drill.checklist()}["rolling restart"]


# what is typed -> the steps that it is too late for, what comes next
TOO_LATE: list[tuple[list[str], list[str], str]] = [
    ([], [], "isolate"),
    ([*ISOLATE, *NOTE, *READ, *DELETE[:3]], ["rolling restart"], "choose"),
    ([*ISOLATE, *READ, *DELETE], ["rolling restart", "note id"], "choose"),
    (
        [*ISOLATE, "restart A", "restart B", *NOTE, *READ, *DELETE, *lead("A")],
        [],
        "choose",
    ),
    (
        [*ISOLATE, "restart A", "restart B", *NOTE, *READ, *DELETE, *lead("A"), "restart A"],
        ["choose"],
        "restart others",
    ),
    (
        [*ISOLATE, *NOTE, *READ, *DELETE, *lead(), "restart B"],
        ["rolling restart"],
        "restart others",
    ),
]


@pytest.mark.parametrize(("lines", "missed", "then"), TOO_LATE)
def test_a_step_that_it_is_too_late_for_is_not_the_next(
    lines: list[str], missed: list[str], then: str
) -> None:
    """It stays without a tick and says so; the hint goes on with what can be done."""
    drill = walked("server", *lines)
    assert [step.name for step in drill.checklist() if step.missed] == missed
    marked = [line for line in checklist_lines(drill.checklist()) if "no longer possible" in line]
    assert len(marked) == len(missed)
    assert drill.enter("hint").lines[0].startswith(f"next, {then}: ")


def test_a_walk_that_left_out_a_step_is_told_so_in_the_end() -> None:
    """All others are done: nothing is next."""
    left_out = WHOLE["server"][len(ISOLATE + FIRST_RESTARTS) :]
    [said] = walked("server", *ISOLATE, *left_out).enter("hint").lines
    assert said == "every other step is done, and it is too late for rolling restart"


def test_a_leader_that_knows_less_is_no_tick() -> None:
    """A has index 10 and B 11; a leader that is corrected in time has its tick."""

    def ticked(*lines: str) -> tuple[bool, str]:
        [step] = [each for each in walked("documents", *lines).checklist() if each.name == "choose"]
        return step.done, step.what.rpartition(": ")[2]

    begun = [*DELETE, *READ]
    assert ticked(*begun) == (False, walked("documents").checklist()[1].what)
    assert ticked(*begun, *lead("A")) == (False, "not A")
    assert ticked(*begun, *lead("A"), *lead("B")) == (True, "B")


LOOKED = [*ISOLATE, *NOTE, *READ, *DELETE, *lead(), *RESTARTS]


def looked_at(*lines: str) -> str:
    """What the grade says of the steps that only look."""
    [row] = [row for row in walked("server", *lines).grade().rows if row.name == "looked at"]
    assert row.holds is None
    return row.why


def test_what_is_only_looked_at_is_seen_and_graded() -> None:
    """The id of the old group, before it is gone; the new one in the log of each live node."""
    assert looked_at(*LOOKED) == "skipped: check"
    assert looked_at(*LOOKED, *LOOK[:2]) == "skipped: check"
    assert looked_at(*LOOKED, *LOOK).startswith("the old group's id")
    unnoted = [line for line in LOOKED if line not in NOTE]
    assert looked_at(*unnoted, *NOTE, *LOOK) == "skipped: note id"
    ticked = {
        s.name: s.done for s in walked("server", *LOOKED, "cat /var/log/scylla.log").checklist()
    }
    assert (ticked["note id"], ticked["check"]) == (True, False)
    drill = walked("server", *LOOKED, *LOOK)
    drill.timeline.goto(drill.beginning)
    assert not any(step.done for step in drill.checklist())


def test_a_later_group_is_looked_for_again() -> None:
    """The leader dies with its group: what was seen of it says nothing of the next one."""
    begun = [*LOOKED, *LOOK, "happen die B", "on A", *lead("A", "A"), *DELETE_HERE, "restart A"]
    assert looked_at(*begun) == "skipped: note id, check"
    assert looked_at(*begun, *LOOK[:2]) == "skipped: note id"


@pytest.mark.parametrize(("kind", "step"), [("documents", "replace"), ("mode", "remove")])
def test_who_dies_in_the_drill_is_named_in_the_checklist(kind: str, step: str) -> None:
    """Not only those that were dead at first: all of them have to be cut off, and taken out."""

    def named(*lines: str) -> list[str]:
        steps = walked(kind, *lines).checklist()
        return [each.what for each in steps if each.name in ("isolate", step)]

    assert all("C, D" in what and "A, " not in what for what in named())
    assert all("A, C, D" in what for what in named("happen die A"))


def test_an_option_that_is_not_set_cannot_be_taken_away() -> None:
    """The file is named, and the node."""
    [said] = errors(walked("server", *UNSET[:2]))
    assert said == "recovery_leader is not set in /etc/scylla/scylla.yaml on A"


def test_what_is_done_already_is_told_in_plain_words() -> None:
    """Rows that are gone, an option on a node that has its group, one that the documents leave."""
    drill = walked("documents", *WHOLE["documents"], *CLEAN, *UNSET[:2], *lead("A", "B")[1:])
    stays = "in the procedure of these documents, recovery_leader stays set"
    assert errors(drill) == [stays, "B leads group 2, which can carry on"]


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


def test_a_leader_may_be_corrected() -> None:
    """While there is no new group another leader is named, on every node."""
    lines = [*BEGUN, *lead("A"), *lead("B"), *RESTARTS, *removal(*DEAD), *CLEAN]
    assert walked("documents", *lines).grade().passed


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


def test_a_new_node_in_the_place_of_a_dead_one_takes_no_tick_away() -> None:
    """The logs of the restarted nodes were looked at; C's successor was not restarted into it."""
    c, d, e = (line.split()[-1] for line in removal(*DEAD, ignore=False))
    replacing = f"new-node --replace-node-first-boot {c} --ignore-dead-nodes-for-replace {d}, {e}"
    assert looked_at(*LOOKED, *LOOK, replacing).startswith("the old group's id")
    assert looked_at(*LOOKED, *LOOK[:2], replacing) == "skipped: check"


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


def test_a_firewall_is_too_late_when_nobody_is_dead_any_more() -> None:
    """The hint goes on; before a leader is chosen no step names one."""
    begun = walked("server").checklist()
    assert [step.what.count("recovery leader") for step in begun if step.name == "choose"] == [1]
    drill = walked("server", *(line for line in WHOLE["server"] if line not in ISOLATE))
    assert [(step.name, step.missed) for step in drill.checklist() if not step.done] == [
        ("isolate", True)
    ]
