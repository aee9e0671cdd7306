"""What the lessons on failures and recoveries ask and check."""
