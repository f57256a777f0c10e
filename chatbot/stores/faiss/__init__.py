"""Search in this process, over the database's passages: FAISS for vectors, BM25 postings for words."""
