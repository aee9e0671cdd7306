"""How the tablet tracks refine the topology's one piece of work for all tablets.

The coarser model is ``topology``, in which it is open on which nodes tablets are after a move. A
state is its cluster; the steps of tablets change nothing there:

====================  ===========================================================================
tablets               topology
====================  ===========================================================================
begin a transition    nothing; with the entry into the track: decide
decide on an RF       decide
work, barriers        nothing
commit of stages      nothing; where a replica set changed: tablets move, and others go on
nothing more to move  tablets move
====================  ===========================================================================

All else is the same step there.
"""

from __future__ import annotations

from typing import Any

from kit.engine.compose import Refinement
from kit.protocols.tablets.tracks.actions import BeginPlan, BeginTransition, TabletAction
from kit.protocols.tablets.tracks.coordinating import begins_track
from kit.protocols.tablets.tracks.model import Tracks
from kit.protocols.tablets.tracks.parameters import TracksParameters
from kit.protocols.tablets.tracks.state import TracksState, deposed_alone
from kit.protocols.tablets.tracks.working import named
from kit.protocols.topology import topology as cluster


def refinement(parameters: TracksParameters) -> Refinement:
    """The map for one configuration."""
    fine = Tracks(parameters)

    def image(before: TracksState, action: Any, after: TracksState) -> tuple[Any, ...]:
        if isinstance(action, BeginTransition | BeginPlan):
            return (cluster.TakeDecision(),) if begins_track(fine, before) else ()
        if isinstance(action, TabletAction):
            return ()
        if isinstance(action, cluster.TakeDecision) and after.control == before.control:
            return ()
        if isinstance(action, cluster.CommitDecision):
            own = before.control.attempted.command
        elif isinstance(action, cluster.CommitDeposed):
            own = None if deposed_alone(before) else before.control.deposed
        else:
            return (action,)
        moved = _moved(fine, before, after)
        return ((action,) if own is not None else ()) + moved

    return Refinement(fine, fine.control, lambda s: s.control, image)


def _moved(fine: Tracks, before: TracksState, after: TracksState) -> tuple[Any, ...]:
    """The coarser step in which the cluster learns on which nodes tablets are now."""
    on = after.control.topology.tablets_on
    if on == before.control.topology.tablets_on:
        return ()
    return (cluster.MoveTablets(named(fine, on), more=True),)
