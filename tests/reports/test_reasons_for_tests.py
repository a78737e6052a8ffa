"""Why tests were taken is said once, not once for each number of cases."""

from __future__ import annotations

from bedside.reports.table_notes import said_once


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    reasons = [
        "as asked, though 4 cases are shared and would pair",
        "12 cases of both systems pair, values are 0 or 1",
        "as asked, though 1,204 cases are shared and would pair",
        "only 3 of 9 cases pair",
        "as asked, though 6 cases are shared and would pair",
        "only 3 of 10 cases pair",
        "12 cases of both systems pair",
        "as asked",
    ]
    assert said_once(reasons) == [
        "as asked, though 4 to 1,204 cases are shared and would pair",
        "12 cases of both systems pair, values are 0 or 1",
        "only 3 of 9 to 10 cases pair",
        "12 cases of both systems pair",
        "as asked",
    ]
    assert said_once([]) == []
