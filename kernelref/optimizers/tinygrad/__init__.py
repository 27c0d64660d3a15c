"""Installed tinygrad releases, each in a worker process of its own."""
