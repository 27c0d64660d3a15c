"""Whose optimizer is under test."""
