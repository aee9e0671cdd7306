"""The rules of the house: layout, pins, set-up, style that no linter knows."""
