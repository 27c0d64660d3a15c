"""kernelref tells whether an optimised GPU kernel is still the same computation."""
