"""What is proved of a Program: domain and races. Read `domain` first."""
