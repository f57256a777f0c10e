"""Keeps one question inside its budget, and says so where that ends it (R-C7)."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..domain.chat import Stopper
from ..domain.errors import (
    LASTING_FAULTS,
    WORDLESS_FAULTS,
    ChatbotError,
    ChatModelError,
    ContextLengthError,
)
from ..domain.request import RequestContext
from ..language.words import Say
from .budget import EXPLORING_SHARE, PLANNING_SHARE, SecondsUsedUpError, Spending
from .emitter import Emitter


class Limits:
    """What a question may still spend, and what has ended it early."""

    def __init__(
        self, spending: Spending, request: RequestContext, events: Emitter, say: Say
    ) -> None:
        self.spending = spending
        self.request = request
        self._events = events
        self._say = say
        self.share = PLANNING_SHARE
        """The share of the seconds in which what is done now has to begin."""
        self.stopped_by: Stopper = ""
        """The limit that ended the question early."""
        self.why_stopped = ""
        self.failure: ChatModelError | None = None
        """Why the model that writes did not write the answer."""
        self._faults: dict[str, ChatModelError] = {}
        self.route_stopped_by: Stopper = ""
        """The limit that ended the choice of a mode early; the search may still be
        complete.
        """

    def stop(self, stopper: Stopper, detail: str = "") -> None:
        """End the exploring: the answer is made of what there is. A reason is said
        once.

        ``detail``: the reason, where it is not the budget of this question.
        """
        why = detail or self.spending.describe(stopper, self._say)
        if why == self.why_stopped:
            return
        self.stopped_by = stopper
        self.why_stopped = why
        self._events.step("budget", why, failed=True)

    def forget_route(self) -> None:
        """Let the chosen mode begin, whatever ended the choice of it."""
        self.route_stopped_by = self.stopped_by
        self.stopped_by = ""
        self.why_stopped = ""

    def may_go_on(self, error: ChatModelError) -> bool:
        """Return whether a failed call may be passing, or others have worked."""
        usage = self.spending.usage
        if usage.calls > usage.failed_calls or isinstance(error, ContextLengthError):
            return True
        return error.retry_after is not None or error.reason in WORDLESS_FAULTS

    def note_fault(self, model_id: str, error: ChatModelError) -> None:
        """Note that a model failed. A fault that lasts is not met twice in a
        question.
        """
        if error.reason in LASTING_FAULTS:
            self._faults[model_id] = error

    def fault_of(self, model_id: str) -> ChatModelError | None:
        """Return why another call of this model would fail; None where it may work."""
        return self._faults.get(model_id)

    @contextmanager
    def limited(self, share: float = EXPLORING_SHARE) -> Iterator[RequestContext]:
        """Yield a request that ends with this share of the budget's seconds.

        Raises:
            SecondsUsedUpError: they ended the work.
        """
        with self.request.within(self.spending.seconds_left(share)) as limited:
            try:
                yield limited
            except ChatbotError as error:
                if not limited.cancelled or self.request.cancelled:
                    raise
                raise SecondsUsedUpError("The budget of seconds is used up.") from error

    def note_time(self, limited: RequestContext) -> None:
        """Say so if the budget's seconds ended the work of ``limited``."""
        if limited.cancelled and not self.request.cancelled:
            self.stop("seconds")
