"""MongoDB's own search engine: `$vectorSearch` and `$search`."""
