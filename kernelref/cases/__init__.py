"""What is kept: case files and the corpus."""
