"""What the lessons on this family ask, and how answers are judged."""
