"""The rules of losing and regaining a majority: pure functions that know no model."""
