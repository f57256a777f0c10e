"""The application: runtime, web, command line, evaluation and checks of an
installation.
"""
