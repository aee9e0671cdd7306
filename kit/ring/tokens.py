"""Token spaces: the line on which nodes and keys have their places.

A space is a line from ``low`` to ``high`` (CEP-21, "Data placements": ranges never wrap). ``low``
is MIN: a node may own it, no key ever hashes to it; ``high`` is the last token.
"""

from struct import iter_unpack

from msgspec import Struct

from kit.errors import BadInput

INT64_LOW = -(2**63)
INT64_HIGH = 2**63 - 1
_MASK = 2**64 - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


class TokenSpace(Struct, frozen=True, order=True):
    """A line of integer tokens ``low`` … ``high``, both within signed 64 bits."""

    name: str
    low: int
    high: int

    def __post_init__(self) -> None:
        allowed = "integers low < high within signed 64 bits"
        for field, value in (("low", self.low), ("high", self.high)):
            if type(value) is not int or not INT64_LOW <= value <= INT64_HIGH:
                raise BadInput(f"token space {field}", value, allowed)
        if self.low >= self.high:
            raise BadInput("token space high", self.high, f"an integer above low = {self.low}")

    def check(self, token: object, field: str = "token") -> int:
        """Return ``token`` when it is an integer of this space, else raise ``BadInput``."""
        if type(token) is int and self.low <= token <= self.high:
            return token
        raise BadInput(field, token, f"an integer from {self.low} to {self.high}")

    def label(self, token: int) -> str:
        """How a token is written: decimal; the two ends of Murmur3 are ``min`` and ``max``."""
        if self.name == MURMUR3.name and token in (self.low, self.high):
            return "min" if token == self.low else "max"
        return str(token)


MURMUR3 = TokenSpace("murmur3", INT64_LOW, INT64_HIGH)


def small(high: int, low: int = 0) -> TokenSpace:
    """A small space for teaching; the worked example of CEP-21 fits in ``small(400)``."""
    return TokenSpace("small", low, high)


def _rotl(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _fmix(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ (value >> 33)


def _stir1(word: int) -> int:
    return _rotl(word * _C1 & _MASK, 31) * _C2 & _MASK


def _stir2(word: int) -> int:
    return _rotl(word * _C2 & _MASK, 33) * _C1 & _MASK


def _signed_word(tail: bytes) -> int:
    """The first eight bytes, little endian, each sign extended: Cassandra's known deviation."""
    word = 0
    for place, byte in enumerate(tail):
        word ^= ((byte - 256 if byte > 127 else byte) << (8 * place)) & _MASK
    return word


def murmur3_token(key: bytes) -> int:
    """The token of a partition key under Murmur3Partitioner, a signed 64-bit integer.

    MurmurHash3 x64 128, first half, seed 0, with the bytes of the tail sign extended as Cassandra
    does. The one value that equals MIN becomes MAX: keys never hash to MIN.
    """
    h1 = h2 = 0
    whole = len(key) // 16 * 16
    for first, second in iter_unpack("<QQ", key[:whole]):
        h1 ^= _stir1(first)
        h1 = ((_rotl(h1, 27) + h2) * 5 + 0x52DCE729) & _MASK
        h2 ^= _stir2(second)
        h2 = ((_rotl(h2, 31) + h1) * 5 + 0x38495AB5) & _MASK
    tail = key[whole:]
    h2 ^= _stir2(_signed_word(tail[8:]))
    h1 ^= _stir1(_signed_word(tail))
    h1 = ((h1 ^ len(key)) + (h2 ^ len(key))) & _MASK
    h2 = ((h2 ^ len(key)) + h1) & _MASK
    token = (_fmix(h1) + _fmix(h2)) & _MASK
    token = token - 2**64 if token > INT64_HIGH else token
    return INT64_HIGH if token == INT64_LOW else token
