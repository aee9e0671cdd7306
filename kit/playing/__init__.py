"""What one does with a history, whoever shows it: step, fork, search, ask why."""
