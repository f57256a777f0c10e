"""The HTTP API described to machines, from the types of requests and answers and the table of routes (OpenAPI 3.1)."""
