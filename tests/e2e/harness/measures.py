"""What a replica timeline says about a scale-out: start, time to the maximum, coverage."""

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Sequence

from tests.e2e.harness.model import State


@dataclasses.dataclass(frozen=True)
class ScaleOut:
    """The figures of one run; times in seconds from the step, None where it never happened.

    coverage_percent is (1 - D / area of the step) x 100, D being the replica-seconds that served
    too little; delay_seconds is D / (height of the step).
    """

    start: float | None
    to_max: float | None
    coverage_percent: float
    delay_seconds: float


def scale_out(timeline: Sequence[State], step: float, end: float, base: int, peak: int) -> ScaleOut:
    """The figures of one step from `base` to `peak` replicas that holds from `step` to `end`."""
    return ScaleOut(
        start=_first(timeline, step, lambda state: state.spec > base),
        to_max=_first(timeline, step, lambda state: state.spec >= peak),
        coverage_percent=coverage(timeline, [(step, peak)], end, base),
        delay_seconds=unmet(timeline, [(step, peak)], end) / (peak - base),
    )


def coverage(
    timeline: Sequence[State], targets: Sequence[tuple[float, float]], end: float, base: float
) -> float:
    """Scale-out Coverage in percent; targets are (moment, replicas needed from then on)."""
    return (1 - unmet(timeline, targets, end) / _area(targets, end, base)) * 100


def at_planned_syncs(
    figures: ScaleOut,
    targets: Sequence[tuple[float, float]],
    end: float,
    base: float,
    late: Sequence[float],
) -> ScaleOut:
    """The figures of a run had the controller's first sync after each target come when it was
    planned, and not so many seconds later: each postponed all replicas that the target added."""
    missing = postponed(targets, base, late)
    highest = max(replicas for _, replicas in targets)
    return ScaleOut(
        start=None if figures.start is None else figures.start - late[0],
        to_max=None if figures.to_max is None else figures.to_max - late[0],
        coverage_percent=figures.coverage_percent + missing / _area(targets, end, base) * 100,
        delay_seconds=figures.delay_seconds - missing / (highest - base),
    )


def with_prompt_pods(timeline: Sequence[State], seconds: float) -> list[State]:
    """The timeline as if each pod served so long after it was asked for, however long the cluster
    took to make it: what is left of a comparison of two clusters of which one makes more pods."""
    moments = sorted({t for state in timeline for t in (state.t, state.t + seconds)})
    states = []
    for moment in moments:
        since = max(moment - seconds, timeline[0].t)
        asked = [state.spec for state in timeline if since < state.t <= moment]
        serving = min([_spec_at(timeline, since), *asked])
        spec = _spec_at(timeline, moment)
        states.append(State(moment, spec, spec, spec, serving))
    return states


def postponed(targets: Sequence[tuple[float, float]], base: float, late: Sequence[float]) -> float:
    """Replica-seconds that syncs which came so much later than planned cost."""
    highest, seconds = base, 0.0
    for (_, replicas), delay in zip(targets, late, strict=True):
        seconds += max(0.0, replicas - highest) * delay
        highest = max(highest, replicas)
    return seconds


def _area(targets: Sequence[tuple[float, float]], end: float, base: float) -> float:
    bounds = itertools.pairwise([moment for moment, _ in targets] + [end])
    return sum(
        max(0.0, replicas - base) * (until - since)
        for (_, replicas), (since, until) in zip(targets, bounds, strict=True)
    )


def unmet(timeline: Sequence[State], targets: Sequence[tuple[float, float]], end: float) -> float:
    """Replica-seconds between what was needed and what served, where too little served."""
    changes = {state.t for state in timeline if targets[0][0] < state.t < end}
    moments = sorted({moment for moment, _ in targets} | {end} | changes)
    return sum(
        (until - since) * max(0.0, _target_at(targets, since) - _serving_at(timeline, since))
        for since, until in itertools.pairwise(moments)
    )


def replica_seconds(timeline: Sequence[State], since: float, until: float) -> float:
    """The replicas that were asked for, summed over the time."""
    moments = sorted({since, until} | {state.t for state in timeline if since < state.t < until})
    return sum(
        (end - begin) * _spec_at(timeline, begin) for begin, end in itertools.pairwise(moments)
    )


def changes(timeline: Sequence[State], since: float, until: float) -> list[tuple[float, int, int]]:
    """Each change of the replicas that were asked for: (moment, before, after)."""
    found = []
    for before, after in itertools.pairwise(timeline):
        if since <= after.t <= until and after.spec != before.spec:
            found.append((after.t, before.spec, after.spec))
    return found


def turns(timeline: Sequence[State], since: float, until: float) -> int:
    """How often the replicas that were asked for changed their direction."""
    signs = [after > before for _, before, after in changes(timeline, since, until)]
    return sum(first != second for first, second in itertools.pairwise(signs))


def taken_back(
    timeline: Sequence[State],
    targets: Sequence[tuple[float, float]],
    until: float,
    within_seconds: float,
) -> list[float]:
    """Moments at which fewer replicas were asked for although the last increase was so lately and
    the load has not fallen since."""
    found, last_up = [], float("-inf")
    for moment, before, after in changes(timeline, targets[0][0], until):
        if after > before:
            last_up = moment
            continue
        fell = any(
            last_up < at <= moment and replicas < _target_at(targets, last_up)
            for at, replicas in targets
        )
        if moment - last_up <= within_seconds and not fell:
            found.append(moment)
    return found


def _spec_at(timeline: Sequence[State], moment: float) -> int:
    return [state.spec for state in timeline if state.t <= moment][-1]


def _target_at(targets: Sequence[tuple[float, float]], moment: float) -> float:
    return [replicas for at, replicas in targets if at <= moment][-1]


def _serving_at(timeline: Sequence[State], moment: float) -> int:
    seen = [state.serving for state in timeline if state.t <= moment]
    return seen[-1] if seen else 0


def _first(
    timeline: Sequence[State], since: float, condition: Callable[[State], bool]
) -> float | None:
    return next(
        (state.t - since for state in timeline if state.t >= since and condition(state)), None
    )


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Median with the ends: "7.6 (0.3-15.1)"."""
    if not values:
        return "never"
    return (
        f"{statistics.median(values):.{digits}f} "
        f"({min(values):.{digits}f}-{max(values):.{digits}f})"
    )
