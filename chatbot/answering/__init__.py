"""Conversations, and the ways of answering a question."""
