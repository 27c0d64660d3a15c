"""How faults are found: kernels and opts at random, shrinking, and planted faults."""
