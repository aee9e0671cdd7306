"""What the lessons on group 0 ask and draw."""
