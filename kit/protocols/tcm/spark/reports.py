"""From sums to answers: small pandas frames with names instead of codes.

A share is a part of the whole token line, 0 to 1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kit.errors import BadInput
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.measures import KINDS
from kit.ring.topology import Codes


def _width(rows: pd.DataFrame) -> pd.Series:
    """Exact sums of words as one floating-point number of tokens."""
    return rows["high"].astype("float64") * 2.0**32 + rows["low"].astype("float64")


def line(history: History) -> float:
    """The number of tokens on the line."""
    return float(history.ring.space.high - history.ring.space.low)


def _of_group(history: History, measures: pd.DataFrame, group: int) -> pd.DataFrame:
    if group not in range(len(history.groups)):
        raise BadInput("group", group, f"a number from 0 to {len(history.groups) - 1}")
    return measures[measures["group"] == group]


def ownership(
    history: History, measures: pd.DataFrame, step: int | None, group: int
) -> pd.DataFrame:
    """Node, dc, rack, ranges it is read from and its shares of reads and writes; by name order.

    Raises:
        BadInput: for an unknown step or group.
    """
    last = len(history.stages) - 1
    at = last if step is None else step
    if at not in range(last + 1):
        raise BadInput("step", step, f"a number from 0 to {last}")
    rows = _of_group(history, measures, group)
    rows = rows[rows["step"] == at]
    packed = history.ring.packed
    table = pd.DataFrame(packed.places, columns=["dc", "rack"])
    table.insert(0, "node", packed.names)
    for side in ("reads", "writes"):
        part = rows[rows["measure"] == side].set_index("unit")
        share = (_width(part) / line(history)).reindex(range(len(table)), fill_value=0.0)
        counts = part["ranges"].reindex(range(len(table)), fill_value=0)
        table[f"{side}_ranges"] = counts.to_numpy()
        table[f"{side}_share"] = share.to_numpy()
    return table


def affected(history: History, measures: pd.DataFrame, group: int) -> pd.DataFrame:
    """Step, name, then counts of ranges and, for extra copies, their share of one whole copy."""
    rows = _of_group(history, measures, group)
    steps = [(stage.step, stage.epoch, stage.name) for stage in history.stages]
    table = pd.DataFrame(steps, columns=["step", "epoch", "name"])
    for name in ("all", "changed", "locked", "moving", "extra"):
        part = rows[rows["measure"] == name].set_index("step")
        counts = part["ranges"].reindex(table["step"], fill_value=0)
        table["ranges" if name == "all" else name] = counts.to_numpy()
    extra = rows[rows["measure"] == "extra"].set_index("step")
    share = (_width(extra) / line(history)).reindex(table["step"], fill_value=0.0)
    table["extra_share"] = share.to_numpy()
    return table


def availability(history: History, measures: pd.DataFrame, group: int) -> pd.DataFrame:
    """For each step, side, level and kind of loss: how many units lose some range its quorum.

    ``units`` is how many such units there are, ``harmful`` how many of them cost a quorum
    somewhere, ``worst`` the one that costs most, ``ranges`` and ``share`` what that one costs.
    Kind ``none`` is what has no quorum as it is.
    """
    rows = _of_group(history, measures, group)
    rows = rows[rows["measure"].str.startswith("lost ")]
    totals = {
        (stage.step, kind): _units(history, stage.ring, kind)
        for stage in history.stages
        for kind in KINDS
    }
    known = dict(iter(rows.groupby(["step", "measure"])))
    worst_losses = []
    for stage in history.stages:
        for measure in _losses(history):
            _, side, *level, kind = measure.split(" ")
            part = known.get((stage.step, measure))
            names = totals.get((stage.step, kind), {})
            worst, ranges, share = "", 0, 0.0
            if part is not None:
                width = _width(part)
                at = int(np.lexsort((part["unit"], -part["ranges"], -width))[0])
                worst = names.get(int(part["unit"].iloc[at]), "")
                ranges = int(part["ranges"].iloc[at])
                share = float(width.iloc[at]) / line(history)
            of = stage.step, stage.name, side, " ".join(level), kind, len(names)
            harmful = 0 if part is None else len(part)
            worst_losses.append((*of, harmful, worst, ranges, share))
    columns = "step name side level loss units harmful worst ranges share".split()
    return pd.DataFrame(worst_losses, columns=columns)


def _losses(history: History) -> list[str]:
    """The measures of loss, in the order of the report."""
    dcs = dict.fromkeys(dc for ring in history.rings for dc in ring.geography.dcs)
    levels = ("ONE", "QUORUM", *(f"LOCAL_QUORUM {dc}" for dc in dcs))
    kinds = ("none", *KINDS)
    return [f"lost {side} {lv} {k}" for lv in levels for side in ("read", "write") for k in kinds]


def _units(history: History, ring: int, kind: str) -> dict[int, str]:
    """The units of a kind that hold a node with tokens, by code."""
    places = history.rings[ring].geography
    members = np.flatnonzero(places.in_ring)
    names: dict[int, str] = dict(enumerate(history.rings[ring].names))
    codes: Codes = np.arange(len(names), dtype=np.int32)
    if kind == "dc":
        names, codes = {code: dc for dc, code in places.dcs.items()}, places.dc_of
    elif kind == "rack":
        names = {code: f"{dc}/{rack}" for (dc, rack), code in places.racks.items()}
        codes = places.rack_of
    return {code: names[code] for code in np.unique(codes[members]).tolist()}


def streams(history: History, rows: pd.DataFrame) -> pd.DataFrame:
    """Operation, source, target, ranges, bytes (of all groups), the most bytes or ranges first."""
    if rows.empty:
        return pd.DataFrame(columns=["operation", "source", "target", "ranges", "bytes"])
    names = history.ring.names
    table = pd.DataFrame(
        {
            "operation": [history.stages[step].operation for step in rows["step"]],
            "source": [names[code] for code in rows["source"]],
            "target": [names[code] for code in rows["target"]],
            "ranges": rows["ranges"].astype("int64"),
            "bytes": rows["bytes"].astype("Int64"),
        }
    )
    table = table.groupby(["operation", "source", "target"], as_index=False, sort=True).agg(
        ranges=("ranges", "sum"), bytes=("bytes", lambda b: b.sum(min_count=1))
    )
    order = ["bytes", "ranges"]
    return table.sort_values(order, ascending=False, kind="stable", ignore_index=True)


def quorums(history: History, rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each group and pair of epochs, and the first witness where majorities miss."""
    keys = ["group", "reader", "writer"]
    total = rows.groupby(keys, as_index=False).agg(
        tasks=("part", "size"), ranges=("ranges", "sum"), missed=("missed", "sum")
    )
    epochs = {stage.step: stage.epoch for stage in history.stages}
    names = [", ".join(n for n, at in history.keyspaces if at == g) for g in total["group"]]
    total.insert(1, "keyspaces", names)
    total["reader_epoch"] = [epochs[step] for step in total["reader"]]
    total["writer_epoch"] = [epochs[step] for step in total["writer"]]
    bad = rows[rows["missed"] > 0].sort_values([*keys, "part"]).drop_duplicates(keys)
    witness = {tuple(row[key] for key in keys): _witness(history, row) for _, row in bad.iterrows()}
    of_rows = total[keys].itertuples(index=False, name=None)
    total["witness"] = [witness.get(key, "") for key in of_rows]
    return total.drop(columns=["group"])


def _witness(history: History, row: pd.Series) -> str:
    names, label = history.ring.names, history.ring.space.label
    reads, writes = (", ".join(names[code] for code in row[side]) for side in ("reads", "writes"))
    where = f"({label(int(row['left']))}, {label(int(row['right']))}]"
    return f"{where}: reads {{{reads}}}, writes {{{writes}}}"
