"""What runs beside the requests."""

from __future__ import annotations

import threading

from chatbot.web.startup import Startup


def test_supervised_work_runs_once_however_often_and_from_wherever_it_is_asked_for() -> None:
    """Two uploads at the same moment must not start two threads over one worker."""
    startup, running, end = Startup(lambda: None), threading.Semaphore(0), threading.Event()

    def work() -> None:
        running.release()
        assert end.wait(10)

    askers = [threading.Thread(target=startup.supervise, args=("ingestion", work)) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    try:
        assert running.acquire(timeout=5)
        assert not running.acquire(timeout=0.2)
    finally:
        end.set()
        startup.close()
