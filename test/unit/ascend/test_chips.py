"""Chip facts against what the vendor's own compiler writes into a module for that chip."""

from __future__ import annotations

import pytest

from flagc.errors import UsageError
from flagc.targets.ascend.chips import ALL_CHIPS, CHIPS, AscendChip, chip, facts_of
from flagc.targets.ascend.vendor_pipeline import run_passes, vendor_passes


@pytest.mark.parametrize("entry", CHIPS, ids=lambda entry: entry.short_name)
def test_facts_equal_the_vendors_device_spec(entry: AscendChip) -> None:
    passes = [p for p in vendor_passes(entry.name) if p.name == "hacc-append-device-spec"]
    text = run_passes("module {}", passes)
    expected = {
        "CUBE_CORE_COUNT": entry.cube_cores,
        "VECTOR_CORE_COUNT": entry.vector_cores,
        "UB_SIZE": entry.ub_bytes * 8,
        "L1_SIZE": entry.l1_bytes * 8,
        "L0A_SIZE": entry.l0a_bytes * 8,
        "L0B_SIZE": entry.l0b_bytes * 8,
        "L0C_SIZE": entry.l0c_bytes * 8,
    }
    for key, value in expected.items():
        assert f'#dlti.dl_entry<"{key}", {value} : i32>' in text


def test_names_are_taken_with_and_without_prefix() -> None:
    assert chip("910b3") is chip("Ascend910B3")
    assert chip("910_9392").name == "Ascend910_9392"


def test_unknown_chip_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="910B3"):
        chip("910B33")


def test_chips_that_nothing_compiles_for_are_facts_only() -> None:
    assert facts_of("950PR_9589").l0c_bytes == 256 * 1024
    assert facts_of("310P3").cube_cores == 8
    with pytest.raises(UsageError, match="910_9391"):
        chip("310P3")


def test_every_chip_names_its_sources() -> None:
    names = [entry.short_name for entry in ALL_CHIPS]
    assert len(set(names)) == len(names)
    assert {"910B1", "910B2", "910B3", "910B4", "910_9391", "310P3", "950PR_9589"} <= set(names)
    for entry in ALL_CHIPS:
        assert entry.sources
        assert entry.l2_bytes > entry.l1_bytes
