"""What the database holds besides passages: reports, conversations, and a few facts about the corpus."""
