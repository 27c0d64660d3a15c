"""What proofs/ shares: nothing yet but this folder, which mypy and pytest look into."""
