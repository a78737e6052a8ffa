"""Forms of structured output: which of them an endpoint takes."""

from __future__ import annotations

from bedside.judges.llm.protocol import Request, WrongFormError


class Forms:
    """Which form of structured output an endpoint takes, found out by using it.

    Forms are numbered from the strictest; the last asks in words only and always works. A form that worked once is
    kept. One that didn't is given up when another worked in its place: at once where the endpoint refused it (4xx),
    after a second time where it failed (5xx), as that may have been chance.
    """

    def __init__(self, last: int, first: int = 0) -> None:
        self.last = last
        self._start = first
        self._worked: set[int] = set()
        self._failed: dict[int, int] = {}

    def choose(self, request: Request) -> int:
        """The form to send a request in; what asks for free text has no form but words."""
        return self.last if request.schema is None else max(request.form, self._start)

    def worked(self, form: int) -> None:
        """Note that an answer came in this form."""
        self._worked.add(form)
        while (
            self._start < form and self._start not in self._worked and self._failed.get(self._start, 0) >= 2
        ):
            self._start += 1

    def failed(self, form: int, refused: bool) -> None:
        """Note that a request in this form failed.

        Raises:
            WrongFormError: the form has never worked here, and there is another.
        """
        if form in self._worked or form == self.last:
            return
        self._failed[form] = self._failed.get(form, 0) + (2 if refused else 1)
        raise WrongFormError(form + 1)
