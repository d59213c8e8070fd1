"""The arithmetic of the measured figures, on timelines whose figures are known by hand."""

import pytest

from tests.e2e.harness.measures import (
    at_planned_syncs,
    changes,
    coverage,
    replica_seconds,
    scale_out,
    spread,
    taken_back,
    turns,
    with_prompt_pods,
)
from tests.e2e.harness.model import State

pytestmark = pytest.mark.short


def _timeline(*states: tuple[float, int, int]) -> list[State]:
    """States by (moment, spec, serving)."""
    return [State(t, spec, spec, spec, serving) for t, spec, serving in states]


def test_one_jump_costs_the_delay_of_the_pods():
    # Asked for at 7 s, serving at 12 s: 18 replicas are missing for 12 of 240 s.
    run = scale_out(_timeline((0, 2, 2), (107, 20, 2), (112, 20, 20)), 100, 340, 2, 20)
    assert (run.start, run.to_max) == (7, 7)
    assert run.delay_seconds == pytest.approx(12)
    assert run.coverage_percent == pytest.approx(95)


def test_a_sync_that_came_late_is_taken_out():
    # As above, and both as if the sync had come 3 s earlier.
    seen = scale_out(_timeline((0, 2, 2), (107, 20, 2), (112, 20, 20)), 100, 340, 2, 20)
    planned = scale_out(_timeline((0, 2, 2), (104, 20, 2), (109, 20, 20)), 100, 340, 2, 20)
    run = at_planned_syncs(seen, [(100, 20)], 340, 2, [3])
    assert (run.start, run.to_max) == (planned.start, planned.to_max)
    assert run.coverage_percent == pytest.approx(planned.coverage_percent)
    assert run.delay_seconds == pytest.approx(planned.delay_seconds)


def test_pods_that_came_late_are_taken_out_and_those_that_were_not_asked_for_long_are_none():
    late = _timeline((0, 2, 2), (107, 20, 2), (130, 20, 20))
    prompt = _timeline((0, 2, 2), (107, 20, 2), (112, 20, 20))
    found = with_prompt_pods(late, 5)
    assert coverage(found, [(100, 20)], 340, 2) == coverage(prompt, [(100, 20)], 340, 2)
    assert turns(found, 0, 340) == 0
    # Asked for at 10, taken back at 12 and asked for again at 13 s: there from 18 s on.
    found = with_prompt_pods(_timeline((0, 2, 2), (10, 8, 2), (12, 2, 2), (13, 8, 2)), 5)
    assert [(s.t, s.serving) for s in found if s.serving != 2] == [(18, 8)]


def test_only_a_target_above_all_before_is_postponed_by_a_late_sync():
    targets = [(100, 12), (190, 8), (280, 16)]
    timeline = _timeline((0, 2, 2), (105, 12, 12), (285, 16, 16))
    seen = scale_out(timeline, 100, 190, 2, 12)
    area = (10 + 6 + 14) * 90
    run = at_planned_syncs(seen, targets, 370, 2, [1, 5, 2])
    gained = (10 * 1 + 4 * 2) / area * 100
    assert run.coverage_percent == pytest.approx(seen.coverage_percent + gained)
    assert run.start == seen.start - 1


def test_steps_add_up():
    steps = _timeline((0, 2, 2), (110, 4, 2), (115, 4, 4), (125, 20, 4), (130, 20, 20))
    run = scale_out(steps, 100, 200, 2, 20)
    assert (run.start, run.to_max) == (10, 25)
    # 18 missing for 15 s, 16 for 15 s.
    assert run.delay_seconds == pytest.approx((18 * 15 + 16 * 15) / 18)


def test_a_run_that_never_scaled_covers_nothing():
    run = scale_out(_timeline((0, 2, 2)), 100, 340, 2, 20)
    assert (run.start, run.to_max, run.coverage_percent) == (None, None, 0)


def test_more_than_needed_makes_up_for_nothing():
    timeline = _timeline((0, 12, 12), (15, 12, 4))
    assert coverage(timeline, [(0, 4), (10, 12)], 20, base=1) == pytest.approx(
        (1 - 8 * 5 / (3 * 10 + 11 * 10)) * 100
    )


def test_replicas_that_were_asked_for_are_summed_whether_or_not_they_serve():
    assert replica_seconds(_timeline((0, 2, 2), (5, 4, 2), (8, 4, 4)), 1, 10) == 4 * 2 + 5 * 4


def test_turns_are_changes_of_direction():
    timeline = _timeline((0, 2, 2), (1, 4, 2), (2, 8, 2), (3, 6, 2), (4, 6, 6), (5, 7, 6))
    assert changes(timeline, 0, 10) == [(1, 2, 4), (2, 4, 8), (3, 8, 6), (5, 6, 7)]
    assert turns(timeline, 0, 10) == 2


def test_a_step_is_taken_back_unless_the_load_fell():
    timeline = _timeline((0, 2, 2), (10, 8, 2), (40, 4, 4))
    assert taken_back(timeline, [(5, 8)], 100, 60) == [40]
    assert taken_back(timeline, [(5, 8), (30, 4)], 100, 60) == []
    assert taken_back(timeline, [(5, 8)], 100, 20) == []


def test_spread_shows_the_median_and_the_ends():
    assert spread([3.0, 1.0, 10.04]) == "3.0 (1.0-10.0)"
