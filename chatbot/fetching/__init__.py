"""Web pages as files: which addresses may be asked (`addresses`), how they are asked (`transport`), what is kept."""
