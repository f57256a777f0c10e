"""Chat models, embedding models and what they share."""
