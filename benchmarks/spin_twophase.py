"""Two-phase commit in Promela, written from the protocol's description, and how SPIN searches it.

One process takes every step, each in one atomic move, so that SPIN sees the states that the kit
sees: which managers prepared, were heard, committed, aborted, and what was decided.
"""

from __future__ import annotations

_HEAD = """\
#define ALL {everybody}
short prepared, heard, committed, aborted;
byte tm; /* 0 undecided, 1 committed, 2 aborted */
#define OPEN(bit) (!((committed | aborted) & bit))
#define SOUND assert(!(committed && aborted))

active proctype world() {{
end:
  do
  :: d_step {{ tm == 0 && heard == ALL -> tm = 1; SOUND }}
  :: d_step {{ tm == 0 -> tm = 2; SOUND }}
"""
_MANAGER = """\
  :: d_step {{ OPEN({bit}) && !(prepared & {bit}) -> prepared = prepared | {bit}; SOUND }}
  :: d_step {{ OPEN({bit}) && !(prepared & {bit}) -> aborted = aborted | {bit}; SOUND }}
  :: d_step {{ tm == 0 && (prepared & {bit}) && !(heard & {bit}) -> heard = heard | {bit}; SOUND }}
  :: d_step {{ tm == 1 && OPEN({bit}) -> committed = committed | {bit}; SOUND }}
  :: d_step {{ tm == 2 && OPEN({bit}) -> aborted = aborted | {bit}; SOUND }}
"""
_TAIL = """\
  od
}
"""


def promela(rms: int) -> str:
    """The model for so many resource managers."""
    managers = "".join(_MANAGER.format(bit=1 << i) for i in range(rms))
    return _HEAD.format(everybody=(1 << rms) - 1) + managers + _TAIL
