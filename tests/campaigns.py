"""How often a test that attacks at random does so: little in CI, as often as wished by
hand.
"""

import os


def times(name: str, in_ci: int) -> int:
    """REPORT_CHAT_KILLS=40 python -m pytest tests/library/test_killed.py."""
    return int(os.environ.get(f"REPORT_CHAT_{name}", in_ci))
