"""Results that need not be computed twice."""
