"""Measurements on questions with known answers: `evaluate` and `calibrate`."""

from .. import Extra


def build() -> Extra:
    return Extra(
        name="evaluation",
        settings=("mlflow_tracking_uri",),
        commands={
            "evaluate": (
                "chatbot.extras.evaluation.commands:evaluate",
                "Measure retrieval on DATASET: your own questions in a CSV file,...",
            ),
            "calibrate": (
                "chatbot.extras.evaluation.commands:calibrate",
                "Measure which scores mean something with the embedding model in...",
            ),
        },
    )
