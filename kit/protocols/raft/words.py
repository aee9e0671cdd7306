"""What people read of messages and servers. Names of messages are those of the Raft paper."""

from functools import lru_cache
from re import split, sub
from typing import Any

from kit.protocols.raft import messages as m
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Data, Entry, Snapshot
from kit.protocols.raft.state import Answer, Candidate, Server

_SAID: dict[type, tuple[str, str]] = {
    m.Append: ("append {entries}", "an append ({entries}) after index {before}"),
    m.Accepted: ("accepted {last}", "the answer that its log agrees up to index {last}"),
    m.Rejected: ("rejected {mismatch}", "the answer that it lacks the entry at index {mismatch}"),
    m.VoteRequest: ("{vote}? t{term}", "a {vote} request for term {term}"),
    m.VoteReply: ("{vote}: yes", "a {vote} for term {term}"),
    m.Install: ("snapshot {snapshot.index}", "a snapshot up to index {snapshot.index}"),
    m.Installed: ("installed", "the answer that it has installed the snapshot"),
    m.TimeoutNow: ("lead now", "the request to lead in its place"),
    m.ReadQuorum: ("still leads?", "a leadership check for term {term}"),
    m.ReadQuorumReply: ("follows", "the answer that it follows in term {term}"),
    m.Forward: ("{command}", "a forwarded command ({command})"),
    m.ForwardReply: ("at {index}", "the answer that the command is at index {index}"),
    m.ReadRequest: ("read?", "a request for the read index"),
    m.ReadReply: ("read at {index}", "the answer that a read must wait for index {index}"),
}
_DENIED: dict[type, tuple[str, str, str]] = {
    m.Rejected: ("mismatch", "rejected, t{term}", "the answer that it is in term {term}"),
    m.VoteReply: ("granted", "{vote}: no", "a refusal to {vote} (term {term})"),
    m.Installed: ("success", "not installed", "the answer that it has not installed the snapshot"),
    m.ForwardReply: ("index", "not taken", "the answer that it takes no command"),
}
"""What is said instead where this field is 0 or False."""


def message_text(message: m.Message, *, fully: bool = False) -> str:
    """A message in short, or with all that a sentence needs."""
    fields: dict[str, Any] = {name: getattr(message, name) for name in message.__struct_fields__}
    fields["vote"] = "pre-vote" if fields.get("trial") else "vote"
    if isinstance(message, m.Append):
        texts = (entry_text(each) if fully else brief_text(each) for each in message.entries)
        fields["entries"] = " ".join(texts) or "nothing"
    field, *denial = _DENIED.get(type(message), ("",))
    if field and not fields[field]:
        return denial[fully].format_map(fields)
    if isinstance(message, m.ReadReply) and message.index is None:
        return ("no read index", "the answer that it has no read index to give")[fully]
    return _SAID[type(message)][fully].format_map(fields)


def verb(message: m.Message) -> str:
    """A message with all that tells it from others: ``append 1 0 0 0 1:-``."""
    fields = ((name, getattr(message, name)) for name in message.__struct_fields__)
    texts = (_field(name, value) for name, value in fields)
    return " ".join([str(message.__struct_config__.tag), *filter(None, texts)])


def _field(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name * value
    if isinstance(value, tuple):
        return ",".join(map(entry_text, value))
    return str(value.index) if isinstance(value, Snapshot) else str(value)


@lru_cache(1 << 12)
def entry_text(entry: Entry) -> str:
    """``2:x``: the term and what the entry holds; a first one of a term holds nothing."""
    return f"{entry.term}:{data_text(entry.data) or '-'}"


def entry_texts(state: str) -> tuple[str, ...]:
    """The entries in the state of a snapshot; members of a configuration have blanks in between."""
    return tuple(split(r" (?=\d+:)", state)) if state else ()


def brief_text(entry: Entry) -> str:
    """The same in few letters: of two groups of members those that are to be, ``2:→{A B C}``."""
    return sub(":.*?→", ":→", entry_text(entry), count=1)


def data_text(data: Data) -> str:
    """The content of an entry: a command, the members, or (empty) nothing."""
    return configuration_text(data) if isinstance(data, Configuration) else data or ""


def configuration_text(of: Configuration) -> str:
    """``{A B}→{A B C}`` while it is joint; who does not vote is in brackets."""
    groups = (of.previous, of.current) if of.is_joint else (of.current,)
    names = ((m.id if m.can_vote else f"({m.id})" for m in group) for group in groups)
    return "→".join(f"{{{' '.join(each)}}}" for each in names)


def role_of(server: Server) -> str:
    """Follower, leader, candidate; one that only asks whether it could win is a pre-candidate."""
    trial = isinstance(server.role, Candidate) and server.role.trial
    return f"{'pre-' * trial}{type(server.role).__name__.lower()}"


def server_text(s: Server, *, is_down: bool = False) -> str:
    """Its role, term, vote, log and commit index, in a line; one that is down has what is left."""
    log = " ".join(map(entry_text, s.log)) or "empty"
    held = s.log.snapshot
    before = f"snapshot up to {held.index}, then " if held.index else ""
    vote = f", voted for {s.stored.vote}" if s.stored.vote else ""
    role = f"down, comes back as {role_of(s)}" if is_down else role_of(s)
    return f"{role} in term {s.term}{vote}; log: {before}{log}; committed up to {s.commit}"


def wish_text(what: str) -> str:
    """The wish of a client, by its request: ``to make A B (C) the members``, ``to read``."""
    word, *rest = what.partition(" at ")[0].split()
    names = " ".join(name if name.isupper() else f"({name.upper()})" for name in rest)
    after = int(what.partition(" after ")[2] or 0)
    wishes = {
        "members": f"to make {names} the members",
        "transfer": f"to hand over to {names or 'another server'}",
        "snapshot": "to take a snapshot",
        "read": f"to read all up to index {after}" if after else "to read",
    }
    return wishes.get(word, f"to add {' '.join((word, *rest))}")


def answer_text(answer: Answer) -> str:
    """``committed at 2``."""
    return f"{answer.outcome} at {answer.index}" if answer.index else answer.outcome
