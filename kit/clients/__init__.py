"""Programs connect to a cluster of the kit: the native protocol of CQL, over a model.

It knows frames, and nothing of protocols. ``server`` reads a frame within limits of size, time and
number, ``frames`` takes it apart, ``conversation`` answers. Tables come from the family's
``Servers``, which magics and drills ask, too (``tables``). A read or write is a request of the
model: ``cluster`` gives it to the family's ``RowServers``, which name the model with this request
in its workload, and the next action that comes by itself. Once the run has an answer, that becomes
a frame: rows, or an error with the model's numbers. After each step, ``events`` compares what every
node knew with what it knows. Programs act in a thread of their own, under the Player's lock.
"""
