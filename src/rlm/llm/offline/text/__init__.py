"""The planner for texts: programs that are sent into the REPL, and how an answer is made of what
they find."""
