"""Putting together what several files say of one cluster, and refusing what does not fit.

Files of one cluster list the same nodes, places, host ids and tokens. Loads change from one moment
to the next: the one that ``nodetool status`` gives counts, else the first. A node that joins, or
has no tokens, may be missing from some outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from kit.errors import BadInput
from kit.operators.importers.listing import Listing, Seen
from kit.operators.importers.nodetool_describering import owned_tokens
from kit.ring.replication import Keyspace

SAME = "; are these outputs of one cluster and one moment?"

NO_TOKENS = (
    "files that say which tokens each node owns: nodetool ring or describering, or system.local "
    "with system.peers; nodetool status says only how many there are"
)


class Merged(Struct, frozen=True):
    """What all files say together: nodes by name, keyspaces in the order of the files."""

    nodes: dict[str, Seen]
    keyspaces: tuple[Keyspace, ...]
    warnings: tuple[str, ...]


def merge(listings: Sequence[Listing], keyspaces: Iterable[Keyspace] = ()) -> Merged:
    """Put listings of one cluster together; keyspaces that were asked for come first.

    Raises:
        BadInput: naming the first thing in which two files differ, a token, host id or keyspace
            that occurs twice, or that no file gives tokens.
    """
    named = [
        (listing.source, listing.cluster) for listing in listings if listing.cluster is not None
    ]
    for source, cluster in named[1:]:
        if cluster != named[0][1]:
            raise BadInput(f"{source} cluster_name", cluster, f"{named[0][1]!r} of {named[0][0]}")
    _check_names(listings)
    warnings = [*(text for listing in listings for text in listing.warnings), *_unseen(listings)]
    nodes: dict[str, Seen] = {}
    said: dict[tuple[str, str], str] = {}
    for listing in listings:
        for node in listing.nodes:
            known = nodes.get(node.name, Seen(node.name))
            nodes[node.name] = _together(known, node, listing, said, warnings)
    nodes = _with_listed_tokens(nodes, listings)
    if not any(node.tokens and node.state != "joining" for node in nodes.values()):
        raise BadInput(", ".join(listing.source for listing in listings), "no tokens", NO_TOKENS)
    _check_counts(nodes, said)
    _once(nodes, "host id", lambda node: [node.host_id] if node.host_id else [])
    _once(nodes, "token", lambda node: node.tokens or ())
    return Merged(nodes, _keyspaces(listings, keyspaces), tuple(warnings))


def _together(
    known: Seen, node: Seen, listing: Listing, said: dict[tuple[str, str], str], warnings: list[str]
) -> Seen:
    """Two accounts of one node as one; ``said`` is which file said what first."""
    changes: dict[str, Any] = {}
    for field in ("dc", "rack", "tokens", "count", "health", "state", "load", "host_id"):
        old, new = getattr(known, field), getattr(node, field)
        if new is None:
            continue
        first = said.setdefault((node.name, field), listing.source)
        if field == "load" and old is not None and listing.form != "status":
            continue
        if field == "health" and {old, new} == {"down", "excluded"}:
            new = "excluded"  # only nodetool status tells the two apart
        elif old is not None and old != new:
            if field == "health":
                warnings.append(f"{listing.source}: {node.name} is {new}; in {first} it is {old}")
            elif field != "load":
                _refuse_difference(node.name, field, (old, first), (new, listing.source))
        changes[field] = new
    return structs.replace(known, **changes)


def _refuse_difference(
    name: str, field: str, first: tuple[Any, str], second: tuple[Any, str]
) -> None:
    (old, before), (new, source) = first, second
    if field != "tokens":
        words = {"dc": "datacenter", "count": "number of tokens", "host_id": "host id"}
        what = f"{source}: {words.get(field, field)} of {name}"
        raise BadInput(what, new, f"{old} as in {before}{SAME}")
    extra = sorted(set(new) - set(old))
    if extra:
        raise BadInput(f"{source}: tokens of {name}", extra[0], f"those of {before}{SAME}")
    lacking = min(set(old) - set(new))
    raise BadInput(f"{before}: tokens of {name}", lacking, f"those of {source}{SAME}")


def _check_names(listings: Sequence[Listing]) -> None:
    """Refuse a node that a file which should list it does not."""
    dumps = [listing for listing in listings if listing.form == "dump" and listing.nodes]
    whole = [
        (listing.source, _names([listing]))
        for listing in listings
        if listing.form != "dump" and listing.complete
    ]
    if any(listing.complete for listing in dumps) and (
        len(dumps) > 1 or any(len(listing.nodes) > 1 for listing in dumps)
    ):
        whole.append((" and ".join(listing.source for listing in dumps), _names(dumps)))
    exempt = {
        node.name
        for listing in listings
        for node in listing.nodes
        if node.state == "joining"
        or node.count == 0
        or (listing.form == "dump" and node.tokens is None)
    }
    for listing in listings:
        for node in listing.nodes:
            for source, names in whole:
                if node.name not in names and node.name not in exempt:
                    raise BadInput(
                        f"{listing.source}: node",
                        node.name,
                        f"a node that {source} knows too{SAME}",
                    )


def _names(listings: Iterable[Listing]) -> set[str]:
    return {node.name for listing in listings for node in listing.nodes}


def _with_listed_tokens(nodes: dict[str, Seen], listings: Sequence[Listing]) -> dict[str, Seen]:
    """Tokens from listed ranges; where tokens are known already, they are only compared.

    Of several keyspaces the one whose ranges begin at the most nodes counts: it leaves the fewest
    datacenters out.
    """
    listed = [(listing, owned_tokens(listing.ranges)) for listing in listings if listing.ranges]
    if not listed:
        return nodes
    _, owners = max(listed, key=lambda listing: len(set(listing[1].values())))
    members = [node for node in nodes.values() if node.state != "joining"]
    known = {token for node in members for token in node.tokens or ()}
    for listing, ends in listed:
        given = known or owners.keys()
        if given not in (ends.keys(), {listed.right for listed in listing.ranges}):
            odd = min(ends.keys() ^ given)
            field = f"{listing.source}: {'range up to' if odd in ends else 'no range up to'} token"
            raise BadInput(field, odd, f"ranges between the tokens of the ring{SAME}")
    if known:
        return nodes
    owned: dict[str, list[int]] = {}
    for token, name in owners.items():
        owned.setdefault(name, []).append(token)
    return {
        name: structs.replace(node, tokens=tuple(sorted(owned[name]))) if name in owned else node
        for name, node in nodes.items()
    }


def _check_counts(nodes: dict[str, Seen], said: dict[tuple[str, str], str]) -> None:
    """Refuse a node that owns another number of tokens than are known, or whose are unknown."""
    for node in nodes.values():
        waits = node.state == "joining" and node.tokens is None
        if not node.count or waits or node.count == len(node.tokens or ()):
            continue
        source = said[node.name, "count"]
        allowed = f"{len(node.tokens or ())}, as the other files say"
        if not node.tokens:
            allowed = "a node whose tokens are in the other files"
        raise BadInput(f"{source}: number of tokens of {node.name}", node.count, allowed + SAME)


def _once(nodes: dict[str, Seen], what: str, values: Callable[[Seen], Iterable[str | int]]) -> None:
    every = [value for node in nodes.values() for value in values(node)]
    if len(set(every)) == len(every):
        return
    owner: dict[str | int, str] = {}
    for node in nodes.values():
        for value in values(node):
            if value in owner:
                allowed = f"each {what} once; {owner[value]} has it too"
                raise BadInput(f"{what} of {node.name}", value, allowed)
            owner[value] = node.name


def _keyspaces(listings: Sequence[Listing], typed: Iterable[Keyspace]) -> tuple[Keyspace, ...]:
    keyspaces: dict[str, tuple[str, Keyspace]] = {}
    given = [("--keyspace", keyspace) for keyspace in typed]
    given += [(listing.source, keyspace) for listing in listings for keyspace in listing.keyspaces]
    for source, keyspace in given:
        before, known = keyspaces.setdefault(keyspace.name, (source, keyspace))
        if known != keyspace:
            what = f"{keyspace.name} ({keyspace.replication.label})"
            raise BadInput(f"{source}: keyspace", what, f"{known.replication.label} as in {before}")
    return tuple(keyspace for _, keyspace in keyspaces.values())


def _unseen(listings: Sequence[Listing]) -> Iterator[str]:
    """Which nodes these files may not show."""
    if any(listing.complete and listing.form != "dump" for listing in listings):
        return
    dumps = [listing for listing in listings if listing.form == "dump" and listing.nodes]
    for listing in dumps:
        if not any(other.complete for other in dumps):
            yield (
                f"{listing.source}: system.peers leaves out the node that was asked; "
                "add system.local"
            )
        elif len(_names(dumps)) == 1:
            yield f"{listing.source}: system.local knows its own node only; give system.peers too"
    if not dumps:
        for listing in listings:
            if listing.form == "describering":
                yield (
                    f"{listing.source}: only nodes with replicas of the described keyspace "
                    "are in it"
                )
