"""What the lesson on Paxos asks, and its exercises."""

import random
from typing import Any

from kit.errors import BadInput, counted
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, listed, model_of, posed
from kit.lessons.replays import Ground, breaking, run_task, takes
from kit.lessons.stills import still
from kit.model.network import posted
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.paxos.messages import Accept, AcceptedReply, Chosen, Promise, RefusedReply
from kit.protocols.paxos.paxos import Paxos

REPLIES: dict[type, str] = {
    Promise: "it promises the ballot",
    AcceptedReply: "it accepts the value",
    RefusedReply: "it refuses the ballot",
    Chosen: "it reports the value of the epoch",
}
MOST = 20_000
"""States in which a question looks for values that can still be chosen."""


def _received(model: Paxos, before: Any, verb: str, what: str) -> tuple[Any, Any, list[Any]]:
    """The step that receives a message, the state after it, and what is sent in it."""
    option = model.find(before, verb)
    if option is None or option[1] is not None or not hasattr(option[0], "envelope"):
        raise BadInput("verb", verb, f"the verb of {what}")
    action, after = option[0], model.apply(before, option[0])
    return action, after, [e.message for e in posted(before.network, action, after.network)]


def reply_to(timeline: Timeline, verb: str) -> PosedQuestion:
    """What does an acceptor answer to a message on its way, given as the verb that delivers it?

    Raises BadInput where the model is not Paxos, or no such message can be received now.
    """
    model, before = model_of(timeline, Paxos), timeline.state
    what = "a message that can be received: deliver A>B …"
    action, after, replies = _received(model, before, verb, what)
    right = [REPLIES[type(message)] for message in replies if type(message) in REPLIES]
    name, said = action.envelope.target, model.in_full(action.envelope.message)
    return posed(
        f"{name} is about to receive {said}. What does {name} answer?",
        REPLIES.values(),
        right,
        model.describe(before, action, after),
        still(timeline, "acceptors"),
    )


def proposal(timeline: Timeline, verb: str) -> PosedQuestion:
    """Which value does a proposer propose, once it has received the promise of this verb?

    Raises BadInput where the model is not Paxos, or that promise brings no proposal about.
    """
    model, before = model_of(timeline, Paxos), timeline.state
    action, after, sent = _received(model, before, verb, "a promise that can be received")
    entries = {message.entry for message in sent if isinstance(message, Accept)}
    if not entries:
        raise BadInput("verb", verb, "a promise that completes a majority")
    return posed(
        f"{action.envelope.target} receives {model.in_full(action.envelope.message)}. "
        "Which value does it propose?",
        tuple(model.proposed),
        entries,
        model.describe(before, action, after),
        still(timeline, "acceptors"),
    )


def possible_values(timeline: Timeline, epoch: int = 1) -> PosedQuestion:
    """Which values can an epoch still get, whatever happens from here on? A search tells.

    Raises BadInput where the model is not Paxos, or there are too many states to look at.
    """
    model = model_of(timeline, Paxos)
    seen, pending, reached = {timeline.state}, [timeline.state], set[str]()
    for state in pending:  # grows while it is walked along
        values = {node.known(epoch) for node in state.nodes} - {None}
        reached |= values
        new = [] if values else [after for _, after in model.successors(state)]
        fresh = [each for each in dict.fromkeys(new) if each not in seen]
        seen.update(fresh)
        pending += fresh
        if len(seen) > MOST:
            raise BadInput("possible_values", len(seen), f"at most {MOST} states from here on")
    said, able = listed(sorted(reached)), f"In the {counted(len(seen), 'state')} that can follow"
    if not reached:
        why = f"{able}, epoch {epoch} stays free."
    elif len(seen) == 1:
        why = f"Epoch {epoch} is {said} already."
    else:
        why = f"{able}, epoch {epoch} is {said} or free."
    return posed(
        f"Messages can take any time, or never arrive. Which values can epoch {epoch} still get?",
        tuple(model.proposed),
        [value for value in model.proposed if value in reached],
        why,
        still(timeline, "acceptors"),
    )


def _finishes(model: Any, step: PassedStep) -> bool:
    sent = getattr(step.action, "envelope", None)
    is_new = model.history(step.after) == ("x",) and not model.history(step.before)
    return is_new and sent is not None and sent.target == "B"


def must_propose(named: list[tuple[int, str] | None], own: str) -> str:
    """The value of the highest ballot, or its own."""
    known = sorted(each for each in named if each)
    return known[-1][1] if known else own


def _promises(chance: random.Random) -> Arguments:
    ballots = chance.sample(range(1, 9), chance.randint(1, 4))
    named = [[each, chance.choice("xyz")] if chance.random() < 0.6 else None for each in ballots]
    return [named, "w"]


TASKS = (
    run_task(
        "finish-for-another",
        "finish for another",
        "There are three members with one ballot each. A proposes x, and B proposes y. Give a run, "
        "as verbs or as a Player, in which B decides epoch 1, but the value is x.",
        "one acceptor has to accept x, and B has to hear of x in the promises it gets.",
        Ground("paxos", {"ballots": 1, "spreads": False, "refusals": False}),
        takes(_finishes, "In your run, B does not get x into epoch 1."),
    ),
    run_task(
        "same-ballot",
        "the same ballot",
        "S-84 is off, so A and B both have ballot 1. Give a run, as verbs or as a Player, in which "
        "epoch 1 is x on one of them and y on the other.",
        "each has to promise the other's ballot, and then accept the other's value.",
        Ground("paxos", {"members": 2, "ballots": 1}, ("own-ballots",)),
        breaking("one-log", "all nodes know the same value."),
    ),
    function_task(
        "must-propose",
        "what a proposer must propose",
        "Write must_propose(named, own). named has one item for each promise of a majority: None, "
        "or the ballot and the value that the acceptor has accepted. own is the proposer's "
        "value. Return the value that it must propose.",
        "the value of the highest ballot that a promise names. If none names one, own.",
        must_propose,
        ([[None, None], "w"], [[[1, "x"], None], "w"], [[[1, "x"], [4, "y"], [2, "x"]], "w"]),
        _promises,
    ),
)
