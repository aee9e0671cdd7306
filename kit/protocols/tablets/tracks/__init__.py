"""Many tablets under the topology coordinator: what begins, how stages follow, what fails."""
