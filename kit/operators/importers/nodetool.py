"""What the outputs of nodetool have in common: addresses, loads, health and state of a node.

The same columns are printed by Apache Cassandra and by ScyllaDB; the latter writes KB for 1024
bytes, as older versions of the former do. A comma before the decimals comes from the locale.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from kit.errors import BadInput
from kit.operators.importers.listing import Health, State
from kit.operators.importers.ringfile import LONGEST_NAME
from kit.ring.tokens import INT64_HIGH, INT64_LOW

LONGEST_ROW = 2000  # characters; a longer line is no row of a table
LOAD = r"\?|[0-9]{1,20}(?:[.,][0-9]{1,9})?(?: (?:bytes|[KMGT]i?B))?"
OWNS = r"\?|\S{1,12}%"
HOST_ID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
ADDRESS = "an IPv4 or IPv6 address, with :port where the tool printed ports, or a host name"
_HOST = re.compile(
    r"(?=.{1,200}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
    r"(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?"
)
_SCOPE = re.compile(r"[A-Za-z0-9._-]{1,32}")
_PORT = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:]*):(?P<port>[0-9]{1,5})")
_TOKEN = re.compile(r"-?[0-9]{1,19}")
_TOKENS = re.compile(r"-?[0-9]{1,19}(?:\n-?[0-9]{1,19})*+")
_UNITS = {"": 0, "bytes": 0, "K": 10, "M": 20, "G": 30, "T": 40}  # powers of two

HEALTH: dict[str, Health] = {
    "U": "up",
    "Up": "up",
    "D": "down",
    "Down": "down",
    "X": "excluded",
    "?": "unknown",
}
STATES: dict[str, State] = {
    "N": "normal",
    "Normal": "normal",
    "J": "joining",
    "Joining": "joining",
    "L": "leaving",
    "Leaving": "leaving",
    "M": "moving",
    "Moving": "moving",
}


def node_name(text: str, field: str) -> str:
    """A node's address as its name: IPv6 in its one canonical form, a port kept.

    Raises:
        BadInput: for what is no address and no host name.
    """
    with_port = _PORT.fullmatch(text)
    if with_port is None:
        return _canonical(text, text, field)
    host, port = with_port["host"], int(with_port["port"])
    if port > 65535:
        raise BadInput(field, text, ADDRESS)
    if host.startswith("["):
        host = _canonical(host[1:-1], text, field)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"{_canonical(host, text, field)}:{port}"


def _canonical(host: str, given: str, field: str) -> str:
    try:
        if ":" in host:
            address = IPv6Address(host)
            if not _SCOPE.fullmatch(address.scope_id or "0"):
                raise AddressValueError
            # Java shows a mapped address as the IPv4 one that it stands for.
            return str(address.ipv4_mapped or address)
        if re.fullmatch(r"[0-9.]+", host):
            return str(IPv4Address(host))
    except AddressValueError:
        raise BadInput(field, given, ADDRESS) from None
    if _HOST.fullmatch(host) is None:
        raise BadInput(field, given, ADDRESS)
    return host


def place_name(text: str, field: str) -> str:
    """The name of a datacenter or rack, as strict as in ring files: it is shown and stored.

    Raises:
        BadInput: for an empty or endless name, or one that cannot be printed.
    """
    if 0 < len(text) <= LONGEST_NAME and text.isprintable():
        return text
    raise BadInput(field, text, f"a text of 1 to {LONGEST_NAME} printable characters")


def name_order(name: str) -> tuple[int, int, str]:
    """A sort key that puts addresses in the order of their numbers, host names last."""
    bare = name.rpartition("]")[0].lstrip("[") or (
        name.partition(":")[0] if name.count(":") == 1 else name
    )
    try:
        if ":" in bare:
            return 1, int(IPv6Address(bare.partition("%")[0])), name
        return 0, int(IPv4Address(bare)), name
    except AddressValueError:
        return 2, 0, name


def bytes_of(load: str) -> int | None:
    """The bytes of a load that matches ``LOAD``: ``1.5 GiB``, ``306,77 KB``; None for ``?``."""
    if load == "?":
        return None
    number, _, unit = load.partition(" ")
    power = _UNITS["bytes" if unit == "bytes" else unit[:1]]
    return round(Fraction(number.replace(",", ".")) * (1 << power))


def token_of(text: str) -> int | None:
    """A decimal token within signed 64 bits, or None for anything else."""
    if _TOKEN.fullmatch(text) is None:
        return None
    token = int(text)
    return token if INT64_LOW <= token <= INT64_HIGH else None


def tokens_of(texts: Sequence[str]) -> list[int | None]:
    """What ``token_of`` gives of each text, without a line break in any.

    A ring may have a million of them, which are tokens as a rule: so they are looked at as one.
    """
    if _TOKENS.fullmatch("\n".join(texts)):
        tokens = list(map(int, texts))
        if min(tokens) >= INT64_LOW and max(tokens) <= INT64_HIGH:
            return [*tokens]
    return list(map(token_of, texts))
