"""Passages in PostgreSQL, searched there."""
