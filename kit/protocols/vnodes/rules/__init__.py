"""One range of a ring while a node operation moves it: pure functions that know no model."""
