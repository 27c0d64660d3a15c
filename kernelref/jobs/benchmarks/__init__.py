"""Long runs that measure one part of kernelref against an independent truth."""
