"""What Spark adds up, in SQL by DuckDB: from the same Parquet, in an environment of its own.

Ranges whose replicas lie on the same racks lose the same with a rack or a datacenter, so these are
counted together first. The package is installed where the benchmark runs, and thrown away.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

PACKAGE = "duckdb==2.0.0"
LONGEST_MAKING = 180  # seconds
_PROGRAM = """
import sys, time, duckdb
script, target, rounds = sys.argv[1:]
with duckdb.connect() as base:
    base.execute("set threads = 2; set enable_progress_bar = false")
    for _ in range(int(rounds)):
        began = time.perf_counter()
        base.execute(open(script).read())
        print(time.perf_counter() - began)
    base.execute(f"copy sums to '{target}' (format parquet)")
"""
TABLETS = """
create or replace temp table sums as
select "table", count(size) as replicas, sum(size)::bigint as bytes, min(size) as least
from (select "table", unnest(bytes) as size from '{folder}/*.parquet') group by all
"""
NODES = """
create or replace temp table nodes as select node, dc,
    dense_rank() over (order by first_of_rack) - 1 as rack_code,
    dense_rank() over (order by first_of_dc) - 1 as dc_code
from (select *, min(node) over (partition by dc, rack) as first_of_rack,
    min(node) over (partition by dc) as first_of_dc from '{folder}/nodes/*.parquet');
set variable racks = (select list(rack_code order by node) from nodes);
set variable dc_of = (select list(dc_code order by rack_code)
    from (select distinct rack_code, dc_code from nodes));
set variable node_dc = (select list(dc_code order by node) from nodes);
create or replace temp table levels as
    select 'ONE' as level, null as dc union all select 'QUORUM', null
    union all select distinct 'LOCAL_QUORUM ' || dc, dc_code from nodes
"""
ROWS = """
create or replace temp table placed as
select "group", step, reads, writes, changed::int as changed, locked::int as locked,
    (("right"::hugeint - "left"::hugeint) >> 32)::bigint as high,
    (("right"::hugeint - "left"::hugeint) & 4294967295)::bigint as low,
    len(list_distinct(list_concat(reads, writes))) as copies
from '{folder}/replicas/*.parquet';
create or replace temp table sides as
select *, list_sort(list_transform(members, lambda n: getvariable('racks')[n + 1])) as racks from (
    select "group", step, 'reads' as side, reads as members, high, low from placed
    union all select "group", step, 'writes', writes, high, low from placed);
create or replace temp table patterns as
select *, list_filter(racks, lambda r: dc is null or getvariable('dc_of')[r + 1] = dc) as here
from (select "group", step, side, racks, count(*) as ranges, sum(high) as high, sum(low) as low
    from sides group by all), levels
"""
ALL = """
select "group", step, '{name}' as measure, -1 as unit,
    sum({factor}) as ranges, sum({factor} * high) as high, sum({factor} * low) as low
from placed group by all
"""
FACTORS = {
    "all": "1",
    "changed": "changed",
    "locked": "locked",
    "moving": "(copies > least(len(reads), len(writes)))::int",
    "extra": "greatest(copies - {wanted}, 0)",
}
SERVED = """
select "group", step, side, node, count(*), sum(high), sum(low)
from (select "group", step, side, unnest(members) as node, high, low from sides) group by all
"""
NEEDED = """case level
    when 'ONE' then 1 + greatest(len(here) - {wanted}, 0)
    when 'QUORUM' then {wanted} // 2 + 1 + greatest(len(here) - {wanted}, 0)
    else len(here) // 2 + 1 end"""
BY_UNIT = """
select "group", step, 'lost ' || rtrim(side, 's') || ' ' || level || ' {kind}', unit,
    sum(ranges), sum(high), sum(low)
from (select *, unnest(list_distinct(units)) as unit
    from (select *, {units} as units from patterns))
where len(here) - len(list_filter(units, lambda u: u = unit)) < {needed} group by all
"""
BY_NODE = """
select "group", step, 'lost ' || rtrim(side, 's') || ' ' || level || ' node', node,
    count(*), sum(high), sum(low)
from (select s."group", s.step, s.side, level, dc, unnest(members) as node, s.high, s.low
    from sides s join (select * from patterns where len(here) - 1 < {needed}) p
    on s."group" = p."group" and s.step = p.step and s.side = p.side and s.racks = p.racks)
where dc is null or getvariable('node_dc')[node + 1] = dc group by all
"""
UNITS = {"rack": "here", "dc": "list_transform(here, lambda r: getvariable('dc_of')[r + 1])"}


def ring_sums(folder: Path, wanted: int) -> str:
    """The statements that give all sums of written replicas as one table."""
    parts = [ALL.format(name=n, factor=f.format(wanted=wanted)) for n, f in FACTORS.items()]
    parts.append(SERVED)
    needed = NEEDED.format(wanted=wanted)
    parts += [BY_UNIT.format(kind=k, units=u, needed=needed) for k, u in UNITS.items()]
    parts.append(BY_NODE.format(needed=needed))
    last = "create or replace temp table sums as " + " union all ".join(parts)
    return ";".join([NODES.format(folder=folder), ROWS.format(folder=folder), last])


def tablet_sums(folder: Path) -> str:
    """The statement that gives the bytes of each table."""
    return TABLETS.format(folder=folder)


@contextmanager
def installed() -> Iterator[Path | None]:
    """A Python that has DuckDB, in an environment of its own; None where it cannot be had."""
    with tempfile.TemporaryDirectory(prefix="kit-duckdb-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, check=True)
        python = Path(folder) / "bin" / "python"
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", PACKAGE],
            capture_output=True,
            check=False,
            timeout=LONGEST_MAKING,
        )
        yield python if done.returncode == 0 else None


def added_up(python: Path, statements: str, rounds: int) -> tuple[float, pd.DataFrame]:
    """The best time of some rounds on two threads, in seconds, and the sums."""
    with tempfile.TemporaryDirectory(prefix="kit-duckdb-") as folder:
        script, target = Path(folder) / "sums.sql", Path(folder) / "sums.parquet"
        script.write_text(statements, encoding="utf-8")
        words = [str(script), str(target), str(rounds)]
        done = subprocess.run(
            [str(python), "-c", _PROGRAM, *words], capture_output=True, text=True, check=True
        )
        return min(map(float, done.stdout.split())), pd.read_parquet(target)
