"""The tables of the pipeline: every column with its type and what it means.

Nodes are codes (int) and tokens are 64-bit integers; a range is ``(left, right]``. A width is the
number of tokens of some ranges, in two columns, ``high * 2**32 + low``: sums of both stay exact,
and so do not depend on the partitions.
"""

from kit.spark.schemas import table

STEP = "step int: the number of the step, 0 before the operation"
GROUP = "group int: keyspaces with equal replication share one group"
LEFT = "left bigint: the left bound, not in the range"
RIGHT = "right bigint: the right bound, in the range"
HIGH = "high bigint: the width in tokens, divided by 2**32"
LOW = "low bigint: the remainder of that division"
NODES = table(
    "nodes",
    "a node of the cluster",
    "node int: its code, used for it in the other tables",
    "name string: its name",
    "dc string: its datacenter",
    "rack string: its rack within the datacenter",
    "tokens int: how many tokens it owns before the operation",
)
KEYSPACES = table(
    "keyspaces",
    "a replicated keyspace",
    "keyspace string: its name",
    GROUP,
    "replication string: its replication in words",
)
STEPS = table(
    "steps",
    "a step, which is an epoch of the metadata log",
    STEP,
    "epoch bigint: its epoch",
    "name string: the name of its event",
    "operation string: the operation it belongs to, or empty before the first one",
    "text string: what it does",
)
TOKENS = table(
    "tokens",
    "a token of the ring before the operation",
    "token bigint: the token",
    "node int: its owner",
)
RANGES = table(
    "ranges",
    "a range of the stable ring, before the operation",
    LEFT,
    RIGHT,
    "node int: the node at whose token the walk for its replicas begins",
)
REPLICAS = table(
    "replicas",
    "a range with its groups, at a step",
    GROUP,
    STEP,
    LEFT,
    RIGHT,
    "reads array<int>: the nodes that serve reads, in walk order",
    "writes array<int>: the nodes that get writes",
    "changed boolean: whether the range or a group is new with this step",
    "locked boolean: whether an operation in flight holds it after this step",
)
STREAMS = table(
    "streams",
    "a range that one node sends to another before reads switch",
    "step int: the step that waits for it",
    GROUP,
    LEFT,
    RIGHT,
    "source int: the node that sends",
    "target int: the node that receives",
    "bytes bigint: the known number of bytes copied, or null if no size is known",
)
MEASURES = table(
    "measures",
    "one sum over ranges of a group at a step",
    GROUP,
    STEP,
    "measure string: what is counted",
    "unit int: the node, rack or datacenter it is counted for, or -1 for none",
    "ranges bigint: how many ranges",
    HIGH,
    LOW,
)
SUMS = table(
    "sums",
    "one measure of the ranges that a task looked at, for steps where it is the same",
    GROUP,
    "steps array<int>: the numbers of the steps",
    "measure string: what is counted",
    "units array<int>: the nodes, racks or datacenters it is counted for, in order",
    "ranges array<bigint>: how many ranges, for each unit",
    "high array<bigint>: how many tokens they hold, for each unit, divided by 2**32",
    "low array<bigint>: the remainder of that division",
)
QUORUMS = table(
    "quorums",
    "the ranges of one part for readers at one epoch and writers at another",
    GROUP,
    "reader int: the step that reading coordinators are at",
    "writer int: the step that writing coordinators are at",
    "part int: the part of the line",
    "ranges bigint: how many ranges, cut where either step cuts",
    "missed bigint: in how many of them some read majority misses a write majority",
    "left bigint: the left bound of the first of these, or null",
    "right bigint: its right bound",
    "reads array<int>: its read group",
    "writes array<int>: its write group",
)
PLACEMENT_TABLES = (NODES, KEYSPACES, STEPS, TOKENS, RANGES, REPLICAS, STREAMS)
PIPELINE_TABLES = (*PLACEMENT_TABLES, MEASURES, SUMS, QUORUMS)
