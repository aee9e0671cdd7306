"""What the lessons on the CMS ask, and their exercises."""
