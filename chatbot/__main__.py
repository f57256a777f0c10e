"""`python -m chatbot`."""

from .app.cli import main

main()
