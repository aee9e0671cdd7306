"""Two answers to one question: epochs beside the topology coordinator, step by step."""
