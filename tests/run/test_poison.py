from __future__ import annotations

import numpy as np
import pytest

from kernelref.ir.dtype import BFLOAT16, FLOAT, IMAGE_HALF, INT8, SCALARS, DType, image
from kernelref.run.job import from_stored, to_stored
from kernelref.run.poison import (
    ZONE_LEAST_NBYTES,
    ZONE_MOST_NBYTES,
    as_bits,
    bits_type,
    poison_bits,
    zone_bits,
    zone_damage,
    zone_elements,
)

DTYPES = (*SCALARS, image(IMAGE_HALF, (2, 3, 4)))


def values_of(dtype: DType, bits: np.ndarray) -> np.ndarray:
    stored = bits.view(to_stored(dtype, np.zeros(1, dtype.numpy)).dtype)
    return np.asarray(from_stored(dtype, stored))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_two_poisons_differ_and_float_poison_is_nan(dtype: DType) -> None:
    first, second = (poison_bits(dtype, second=second) for second in (False, True))
    assert first != second
    bits = np.array([first, second], bits_type(dtype))
    if dtype.is_float:
        assert np.isnan(values_of(dtype, bits)).all()
        default_nan = as_bits(dtype, to_stored(dtype, np.array([np.nan], dtype.numpy)))
        assert default_nan[0] not in bits


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_zones_of_two_buffers_differ_everywhere(dtype: DType) -> None:
    assert (zone_bits(dtype, 0, 64) != zone_bits(dtype, 1, 64)).all()


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_float], ids=str)
def test_float_zones_are_finite_large_and_of_both_signs(dtype: DType) -> None:
    values = values_of(dtype, zone_bits(dtype, 3, 4)).astype(np.float64)
    assert np.isfinite(values).all()
    assert (np.abs(values) > 5e4).all()
    assert (np.sign(values) == [1, -1, 1, -1]).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("elements", [1, 5000, 10_000_000])
def test_zones_are_whole_blocks_within_limits(dtype: DType, elements: int) -> None:
    nbytes = zone_elements(dtype, elements) * dtype.itemsize
    assert ZONE_LEAST_NBYTES <= nbytes <= ZONE_MOST_NBYTES
    assert nbytes % ZONE_LEAST_NBYTES == 0


def test_zone_damage_names_the_nearest_element() -> None:
    clean = zone_bits(FLOAT, 2, 1024)
    assert zone_damage(FLOAT, 2, 10, clean, clean) == ""
    before, after = clean.copy(), clean.copy()
    before[[5, 1022]] = 0
    after[[3, 900]] = 0
    assert "[-2] before the start" in zone_damage(FLOAT, 2, 10, before, clean)
    assert "[13] past the end" in zone_damage(FLOAT, 2, 10, clean, after)


def test_stored_values_come_back() -> None:
    for dtype in SCALARS:
        values = np.array([0, 1, 1, 0], dtype.numpy)
        assert (from_stored(dtype, to_stored(dtype, values)) == values).all()
    assert to_stored(BFLOAT16, np.array([1.0], np.float32))[0] == 0x3F80
    assert to_stored(INT8, np.array([-1], np.int8)).dtype == np.int8
