"""The rules of every opt, one record each."""
