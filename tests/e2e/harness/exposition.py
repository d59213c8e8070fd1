"""Reads the Prometheus text format of the control plane's programs."""

import re

_SERIES = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


def total(text: str, family: str, **labels: str) -> float:
    """The sum of the family's series that have all of `labels`; 0 if there is none."""
    wanted = [f'{name}="{value}"' for name, value in labels.items()]
    return sum(
        float(value)
        for name, found, value in _SERIES.findall(text)
        if name == family and all(label in (found or "") for label in wanted)
    )
