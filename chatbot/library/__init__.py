"""From files to searchable passages."""
