"""Raft never stays without a leader, refines the one-line log, and breaks where it is broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput, KitError
from kit.model.machines import Turn
from kit.model.model import Model
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.raft.commit_log import CommitLog
from kit.protocols.raft.groups import RaftGroups
from kit.protocols.raft.raft import QUIET, Raft, RaftNode
from kit.protocols.raft.rules.log import Log
from kit.protocols.raft.state import Leader, Stored
from kit.search.check import Result, check, check_refinement
from kit.search.zoom import finer_run, zoomed
from tests.quality.breaking import broken, never
from tests.quality.reporting import assert_reported, judges

EDITIONS = ("documents", "server")


UNASKED: dict[str, Any] = {"requests": (), "most_in_flight": 2}


PAIR = {"nodes": 2, "members": "A B", **UNASKED}


OLD_TERM = {**PAIR, "begins": ("1", ", term 3"), "terms": 5}


DEPOSED = {
    **PAIR,
    "begins": ("1, commit 1, leads", "1, follows A"),
    "terms": 3,
    "edition": "server",
    "detector": True,
}


WITH_ONE_DOWN = {
    "begins": ("1", ", term 3", ", term 3"),
    "requests": (),
    "terms": 4,
    "most_in_flight": 4,
    "crashes": 1,
}


def promise(parameters: dict[str, Any], off: tuple[str, ...] = (), name: str = "led-again") -> Any:
    """The search of one promise alone."""
    model = build("raft", parameters, off)
    [prop] = [each for each in model.properties if each.name == name]
    return model, check(model, (prop,))


def is_lasso(model: Any, result: Result) -> bool:
    """Whether the run ends where its loop begins, and no state of the loop has a leader."""
    violation = result.violation
    if violation is None or violation.loop is None:
        return False
    states = [model.start()]
    for step in violation.actions:
        states.append(model.act(states[-1], step))
    loop = states[violation.loop :]
    return model.recurring(loop[0]) == model.recurring(loop[-1]) and not any(
        map(model.led_again, loop)
    )


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_group_with_a_voter_in_an_old_term_elects_a_leader(edition: str) -> None:
    """Without the safeguard pre-votes go on for ever: A's term is old, and B's log is."""
    given = {**OLD_TERM, "edition": edition}
    model, found = promise(given, ("old-terms",))
    assert is_lasso(model, found)
    _, kept = promise(given)
    assert (kept.complete, kept.violation) == (True, None)
    assert "terms=5" in kept.within


@pytest.mark.parametrize("fault", ["partitions", "cuts"])
def test_a_deposed_leader_can_be_elected_again_by_its_followers(fault: str) -> None:
    """Without the safeguard they refuse its pre-vote, and everybody waits for ever."""
    given = {**DEPOSED, fault: 1}
    model, found = promise(given, ("own-leader",))
    assert is_lasso(model, found)
    _, kept = promise(given)
    assert (kept.complete, kept.violation) == (True, None)


@pytest.mark.deep
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        WITH_ONE_DOWN,
        {"nodes": 4, "members": "A B C D", "begins": ("1", "1", ", term 3", ", term 3"),
         "requests": (), "terms": 4, "most_in_flight": 3},
        {"nodes": 3, "members": "A B c", "begins": ("1", ", term 3", "1"),
         "requests": (), "terms": 4, "most_in_flight": 3},
    ],
    ids=["one of three down", "two of four", "with a learner"],
)  # fmt: skip
def test_larger_groups_with_old_terms_wait_for_ever(edition: str, given: dict[str, Any]) -> None:
    """Without the safeguard: with a node down, of four nodes, beside a member without a vote."""
    model, found = promise({**given, "edition": edition}, ("old-terms",))
    assert is_lasso(model, found)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("fault", ["", "crashes", "drops", "duplicates", "holds", "partitions"])
def test_a_group_of_two_finds_a_leader_after_any_single_fault(edition: str, fault: str) -> None:
    """With every safeguard on."""
    given = {
        **PAIR,
        "terms": 1,
        "edition": edition,
        "detector": True,
        **({fault: 1} if fault else {}),
    }
    _, kept = promise(given)
    assert (kept.complete, kept.violation) == (True, None)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 1, "members": "A", "crashes": 1},
        {"nodes": 2, "members": "A b", "most_in_flight": 2},
        {"nodes": 2, "members": "A B", "begins": ("1, commit 1, leads", "1"), "terms": 1,
         "requests": ("members A",), "most_in_flight": 2, "fifo": True},
    ],
    ids=["one", "one with a learner", "shrunk to one"],
)  # fmt: skip
def test_a_single_voter_commits_what_is_on_its_disk(edition: str, given: dict[str, Any]) -> None:
    """In a group that shrinks to a single voter as well."""
    _, kept = promise({**given, "writes_apart": True, "edition": edition}, (), "committed-is-kept")
    assert (kept.complete, kept.violation) == (True, None)
    assert kept.states > 1


def test_without_waiting_for_its_disk_a_single_voter_commits_too_early() -> None:
    """etcd-io/etcd#14370."""
    given = {"nodes": 1, "members": "A", "writes_apart": True}
    _, found = promise(given, ("own-disk",), "committed-is-kept")
    assert found.violation is not None
    assert len(found.violation.actions) == 1


@pytest.mark.parametrize(
    ("begins", "reason"),
    [
        (("1, leads",), "A leads term 1 without the votes of a majority"),
        (("1, leads", "1, leads", "1"), "leads term 1 without the votes of a majority"),
        (("1, leads", "1, votes C", "1, votes C"), "without the votes of a majority"),
        (("2, term 1", "", ""), "the terms in A's log never fall, and its own is no older"),
        (("2 1", "", ""), "the terms in A's log never fall"),
        (("1, commit 2", "1", "1"), "A has no entry 2 that could be committed"),
        (("1 1, commit 2, leads", "1", "1"), "A considers index 2 committed without a majority"),
        (("1 2", "2 2", ""), "the logs of A and B differ before an entry that both have"),
    ],
)
def test_a_beginning_that_no_run_leads_to_is_refused(begins: Any, reason: str) -> None:
    """With the reason."""
    with pytest.raises(BadInput, match=reason):
        build("raft", {"begins": begins, "terms": 4})


def test_who_leads_may_have_had_votes_of_former_members() -> None:
    """C has voted for A, which then appended that A and B go on alone."""
    begins = ("1 2=AB, leads", "1", "1, term 2, votes A")
    first, *_ = build("raft", {"begins": begins, "terms": 4}).start().nodes
    assert first.server.log.configuration.voters == ("A", "B")


def test_each_of_two_groups_finds_a_leader_again() -> None:
    """As far as the terms go."""
    result = check(build("raft_groups", {"nodes": 2, "terms": 1, "entries": 1}))
    assert (result.complete, result.violation, result.within) == (True, None, "terms=1")


ONE_TERM: dict[str, Any] = {"terms": 1, "most_in_flight": 2}


LED = ("1, commit 1, leads", "1", "1")


COARSE: list[tuple[dict[str, Any], int]] = [
    ({**ONE_TERM, "begins": LED, "requests": ("x", "y")}, 201),
    ({**ONE_TERM, "begins": LED, "requests": ("x", "y"), "terms": 2}, 1653),
    ({**ONE_TERM, "begins": LED, "requests": ("x",), "edition": "server",
      "crashes": 1}, 590),
]  # fmt: skip


def _refinement(given: dict[str, Any], off: tuple[str, ...] = ()) -> Any:
    refines = entry_of("raft").refinement
    assert refines is not None
    return refines(build("raft", given, off).parameters)


@pytest.mark.parametrize(("given", "states"), COARSE)
def test_each_step_refines_the_log_of_single_steps(given: dict[str, Any], states: int) -> None:
    """A step appends and applies there what it does here, or nothing."""
    result = check_refinement(_refinement(given))
    assert (result.complete, result.violation, result.states) == (True, None, states)


def test_a_commit_of_group_0_zooms_into_messages_of_raft() -> None:
    """B's command is asked for at B; a moment without a commit has no finer view."""
    operations = ("create keyspace ks at A", "create keyspace kt at B")
    timeline = Timeline(build("group0", {"operations": operations}))
    while len(timeline.state.log) < 2:
        timeline.forward()
    run = zoomed(timeline)
    assert run.model.name == "raft"
    assert run.model.requests[1] == "create-keyspace-kt at B"
    first = run.forward()
    assert first is not None
    assert run.model.verb(first.action) == "request B create-keyspace-kt at B"
    timeline.goto(0)
    with pytest.raises(KitError, match="no finer view"):
        zoomed(timeline)


def test_a_snapshot_behind_a_change_of_members_gives_the_same_machine() -> None:
    """No search finds a server whose machine differs from the others'."""
    given = {"begins": ("1, commit 1, leads", "1"), "members": "A B", "terms": 1}
    wishes = {"requests": ("members A B C", "snapshot at A"), "most_in_flight": 2}
    assert check(build("raft", given | wishes)).violation is None


def test_a_command_that_looks_like_an_entry_is_refused() -> None:
    """Two could not be told from one in a snapshot."""
    with pytest.raises(BadInput, match=r"^requests: got 'x 2:y'; allowed: a command without"):
        build("raft", {"requests": ("x 2:y",)})


@pytest.mark.parametrize(("nodes", "opens"), [(1, True), (6, True), (7, True), (8, False)])
def test_a_commit_of_up_to_seven_members_has_a_finer_view(nodes: int, opens: bool) -> None:
    """Of a larger group no finer view is known."""
    given = {"nodes": nodes, "operations": ("create keyspace kt at A",)}
    timeline = played_out(Timeline(build("group0", given)))
    finer = [at for at in timeline.path()[1:] if finer_run(timeline, at)]
    models: list[Any] = [zoomed(timeline, at).model for at in finer]
    assert [model.nodes for model in models] == [nodes] * opens


SMALL = {"shards": 2, "writes": 2, "changes": 1, "crashes": 0}


def without(name: str, model: str = "commit_log") -> Callable[[], Model[Any, Any]]:
    """A model without a safeguard, in its smallest configuration."""
    [guard] = [each for each in entry_of(model).safeguards if each.name == name]
    return lambda: build(model, guard.smallest, (name,))


def forgetful_leader() -> Model[Any, Any]:
    """A leader that drops its second entry when its timer runs out."""
    model = build("raft", {"begins": ("1 1, leads", "1 1", "1 1"), **QUIET})

    def fires(node: str, state: RaftNode, timer: str) -> Turn:
        stored = state.server.stored
        cut = replace(stored, log=stored.log.cut(2))
        return state.but(server=replace(state.server, stored=cut)), ()

    model.fires = fires  # type: ignore[attr-defined]  # for this one
    return model


def stopped(**parameters: Any) -> Model[Any, Any]:
    """No timer ever runs out."""
    return broken(build("raft", {**QUIET, **parameters}), Raft.tick.struct, never)


def other_logs() -> Model[Any, Any]:
    """Two servers with one entry of one term, but not what is before it."""
    model = build("raft", {"begins": ("1 2", "1 2", ""), **QUIET})
    start = model.start()
    first = start.nodes[0].server
    entries = [replace(entry, term=1) for entry in first.log]
    log = Log().appended(replace(entries[0], data="y")).appended(first.log.entry(2))
    other = start.at(1, server=replace(first, id="B", stored=replace(first.stored, log=log)))
    model.start = lambda: other  # type: ignore[method-assign]  # for this one
    return model


def nobody_campaigns() -> Model[Any, Any]:
    """Nodes that never ask for votes, in a term that is not the last."""
    model = broken(build("raft_groups", {"nodes": 2, "terms": 2}), RaftGroups.happen.struct, never)
    model.horizon = lambda s: iter(())  # type: ignore[method-assign]  # for this one
    return model


def two_leaders() -> Model[Any, Any]:
    """Two nodes that both lead a group in term 1 from the start."""
    model = build("raft_groups", {"nodes": 2})
    start = model.start()
    led = (replace(of[0], stored=Stored(term=1), role=Leader()) for of in start.nodes)
    nodes = tuple((one, of[1]) for one, of in zip(led, start.nodes, strict=True))
    model.start = lambda: start.but(nodes=nodes)  # type: ignore[method-assign]  # for this one
    return model


COMMIT_LOG = {
    "durable": without("sync-each"),
    "quick": without("own-priority"),
    "fits": without("own-log"),
    "overtakes": lambda: broken(build("commit_log", SMALL), CommitLog.answer.struct, never),
    "at-rest": lambda: broken(build("commit_log", SMALL), CommitLog.answer.struct, never),
}


GROUPS = {
    "one-leader": two_leaders,
    "led-again": nobody_campaigns,
    "own-leaders": lambda: broken(
        build("raft_groups", {"nodes": 2}), RaftGroups.happen.struct, never
    ),
}


RAFT = {
    "one-leader-a-term": without("stored-vote", "raft"),
    "leader-only-appends": forgetful_leader,
    "logs-match": other_logs,
    "leader-has-all": without("newest-log", "raft"),
    "machines-agree": without("one-change", "raft"),
    "committed-is-kept": without("majority", "raft"),
    "reads-see-writes": without("read-quorum", "raft"),
    "terms-need-others": without("pre-vote", "raft"),
    "led-again": without("old-terms", "raft"),
    "nobody-waits-for-the-deaf": without("step-down", "raft"),
    "majorities-meet": without("joint", "raft"),
    "leads": stopped,
    "answered": lambda: stopped(requests=("x",)),
}


@pytest.mark.parametrize(("name", "made"), [*RAFT.items(), *COMMIT_LOG.items(), *GROUPS.items()])
def test_a_search_reports_each_promise_broken_on_purpose(name: str, made: Any) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(made(), name)


def test_every_property_of_commit_log_and_groups_has_a_broken_variant() -> None:
    """The tables name all that the two models judge."""
    assert set(COMMIT_LOG) == set(judges(build("commit_log")))
    assert set(GROUPS) == set(judges(build("raft_groups")))
