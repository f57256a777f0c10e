"""Words, sentences, numbers, countries and the program's own words, without a model."""
