"""The contents of the database besides passages: reports, conversations, and a few
facts about the corpus.
"""
