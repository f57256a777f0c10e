"""Moving and changing what is stored: between databases, to another embedding model, to
a newer schema.
"""
