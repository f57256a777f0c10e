"""`python -m chatbot`."""

from .prerequisites import require_installation

require_installation()

from .app.cli import main  # noqa: E402 - it imports the packages

main()
