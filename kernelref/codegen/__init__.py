"""How a Kernel becomes a program: lowering and rendering."""
