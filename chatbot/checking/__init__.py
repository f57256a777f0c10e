"""From hits to an answer: numbered context, prompt, citations and their check."""
