"""What an operator types and reads in a drill: commands, tools of servers, logs."""
