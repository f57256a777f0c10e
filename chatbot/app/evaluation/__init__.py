"""Retrieval quality, measured offline."""
