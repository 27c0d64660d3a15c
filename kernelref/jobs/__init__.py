"""The work behind the verbs."""
