"""`python -m chatbot`."""

from .cli import main

main()
