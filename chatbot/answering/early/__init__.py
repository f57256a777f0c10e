"""Answers that need no search, or come from what the library has as data.

Each is a stage that looks at the question and answers it, or leaves it to the next.
"""
