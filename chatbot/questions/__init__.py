"""Reading of questions: names, years, comparisons, parts, and what a follow-up needs of
earlier questions.
"""
