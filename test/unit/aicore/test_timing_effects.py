"""What practitioners measure comes out with the right sign (tools/aicore/calibrate/effects.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flagc.aicore.timing.costs import cost_table
from support.program_modules import modules_of

CALIBRATE = Path(__file__).resolve().parents[3] / "tools" / "aicore" / "calibrate"


@pytest.fixture(scope="module")
def calibrate() -> Any:
    with modules_of(CALIBRATE, "effects", "rates_check") as modules:
        yield modules


def test_tiles_of_k_that_are_too_small_or_too_large_lose(calibrate: Any) -> None:
    times = calibrate["effects"].k_tiles(cost_table().values())
    best = min(times, key=times.__getitem__)
    assert 64 <= best < max(times)
    assert times[16] > 2 * times[best]
    assert times[max(times)] > 1.1 * times[best]


def test_deeper_buffers_gain_then_stop_gaining_then_lose(calibrate: Any) -> None:
    times = calibrate["effects"].buffers(cost_table().values())
    assert times[1] > 1.1 * times[2]
    assert times[3] == pytest.approx(times[2], rel=0.1)
    assert times[8] > 1.2 * times[3]


def test_bands_of_tiles_gain_where_the_operands_exceed_l2(calibrate: Any) -> None:
    values = cost_table().values()
    fits = calibrate["effects"].swizzles(values, 4096, 192)
    exceeds = calibrate["effects"].swizzles(values, 4096, 16)
    assert min(fits.values()) > 0.9 * fits[1]
    assert min(exceeds[4], exceeds[8]) < 0.9 * exceeds[1]


def test_vector_rates_are_those_of_the_documents(calibrate: Any) -> None:
    errors = calibrate["rates_check"].vector_errors()
    assert len(errors) > 100
    assert float(np.median(errors)) < 0.02
    assert float(np.mean(errors < 0.1)) > 0.85
