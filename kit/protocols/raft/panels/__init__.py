"""How the messages, logs and disks of Raft are drawn."""
