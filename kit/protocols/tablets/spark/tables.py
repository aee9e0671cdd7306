"""The tables of tablets: every column with its type and what it means.

Nodes and tables are numbers. A size is in bytes, one that is not known is ``UNKNOWN`` (-1).
"""

from __future__ import annotations

from kit.spark.schemas import table

TABLE = "table int: the table"
TABLETS = table(
    "tablets",
    "a tablet of a table, with its replicas",
    TABLE,
    "tablet int: its number in the table",
    "nodes array<int>: the nodes that hold its replicas",
    "shards array<int>: the shard of each replica on its node",
    "bytes array<bigint>: the size of each replica, -1 where it is not known",
)
RESIZES = table(
    "resizes",
    "a table, or a group of co-located ones, and what its resize is from now on",
    "table int: the table; of a group its base table",
    "tables int: how many tables are in the group",
    "tablets int: how many tablets it has",
    "replicas int: the replication factor",
    "bytes bigint: the size of all replicas of the group, null where some are not known",
    "average bigint: the size of one replica of one tablet, null likewise",
    "before string: what was decided until now: none, split or merge",
    "decision string: what is decided from now on",
    "resize_seq_number int: the number of the decision",
    "reason string: why, by its name",
)
AVERAGES = table(
    "averages",
    "tables whose average tablet sizes lie together and on which the same is decided",
    "bucket int: the number of the bucket, from 0 on, null where sizes are not known",
    "least bigint: the smallest average in it, null likewise",
    "below bigint: where the next bucket begins, null at the last one and where none is known",
    "decision string: what is decided from now on",
    "tables bigint: how many tables, each of a group counted",
)
LOSSES = table(
    "losses",
    "a loss of one or two nodes that takes the quorum from tablets, where no smaller loss does",
    "first int: a node",
    "second int: the other node, null where the first alone is enough",
    "tablets bigint: how many tablets have no quorum then",
)
BALANCING = table(
    "balancing",
    "a plan of the balancer on a drawn cluster",
    "seed bigint: the seed that the cluster was drawn from",
    "edition string: by which edition it is balanced",
    "nodes int: how many nodes there are",
    "shards int: how many shards there are",
    "replicas int: how many replicas all tablets have together",
    "plan int: the number of the plan, 0 before the first",
    "moves int: how many replicas it moves",
    "bytes bigint: how many bytes it copies",
    "least double: the load of the least loaded shard after it, by the mean",
    "most double: the load of the most loaded shard after it, by the mean",
    "needed int: the least moves after it to the mean number of replicas on every shard",
)
TABLET_TABLES = (TABLETS, RESIZES, AVERAGES, LOSSES, BALANCING)
