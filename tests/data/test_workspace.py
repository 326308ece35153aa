"""The temporary database that reading works in."""

from __future__ import annotations

from standout.data.reading.workspace import one_row, workspace


def test_a_slow_query_draws_no_progress_bar_on_standard_output() -> None:
    with workspace("ratings.csv") as (con, _):
        assert one_row(con, "SELECT current_setting('enable_progress_bar')") == (False,)
