"""Group 0: one replicated log in which every change of metadata names the state it was built on."""
