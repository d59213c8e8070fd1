"""Tests of the arithmetic between the driver's figures and the report."""

from harness.report import bars, figures


def run(**values):
    return dict(values)


def test_figures_are_medians_and_ratios_of_medians():
    found = figures(
        {
            "ingest.small": {
                "activescale": [run(cpu_us_per_message=v) for v in (4.0, 9.0, 5.0)],
                "reference": [run(cpu_us_per_message=v) for v in (100.0, 90.0, 500.0)],
            }
        }
    )
    assert found["ingest.small.activescale.cpu_us_per_message"] == 5.0
    assert found["ingest.small.ratio_reference"] == 0.05


def test_a_bar_above_its_limit_is_missed():
    found = {"query.pods100.activescale.p50_ms": 0.51}
    assert [bar.met for bar in bars(found)] == [False]
    found = {"query.pods100.activescale.p50_ms": 0.5}
    assert [bar.met for bar in bars(found)] == [True]


def test_memory_after_a_flood_is_held_against_its_base():
    found = {
        "ingest.flood_small.activescale.base_rss_mib": 20.0,
        "ingest.flood_small.activescale.later_rss_mib": 34.1,
    }
    (bar,) = bars(found)
    assert bar.limit == 34.0
    assert not bar.met


def test_without_the_product_there_are_figures_but_no_bars():
    found = figures({"ingest.small": {"floor": [run(cpu_us_per_message=4.0)]}})
    assert found == {"ingest.small.floor.cpu_us_per_message": 4.0}
    assert bars(found) == []
