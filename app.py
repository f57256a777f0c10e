"""WSGI entry point, and `python app.py`: the chat on http://127.0.0.1:8000."""

from chatbot.prerequisites import require_installation

require_installation()

if __name__ == "__main__":
    from chatbot.app.cli import main

    main(["serve"])
else:
    from chatbot.app.factory import create_app

    app = create_app()
