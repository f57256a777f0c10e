"""Background work over the database: a queue that all processes share, and the threads
that work through it.
"""
