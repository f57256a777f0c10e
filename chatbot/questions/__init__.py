"""What a question says: the names and years in it, what it compares, its parts, and what it needs of those before."""
