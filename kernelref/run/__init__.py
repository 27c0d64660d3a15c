"""How a program runs, and what it should have computed."""
