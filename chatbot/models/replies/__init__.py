"""What a language model wrote, read by a program: tolerantly, with limits, and without ever failing (R-C8, R-C9)."""
