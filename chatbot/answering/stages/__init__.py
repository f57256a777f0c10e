"""What every question may pass: reading, scope, cache, choosing a mode, judging what
was found, finishing.
"""
