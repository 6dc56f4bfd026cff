"""Wrong elements are told by the programs that store them."""

import torch

from flagc.check.place import locate

GRID = (3, 2, 1)


def stored_by() -> torch.Tensor:
    """A 20x12 output in 8x8 tiles: program (x, y) stores rows 8x and columns 8y."""
    owners = torch.full((20, 12), -1, dtype=torch.int32)
    for x in range(3):
        for y in range(2):
            owners[8 * x : 8 * x + 8, 8 * y : 8 * y + 8] = x + 3 * y
    return owners


def test_a_wrong_corner_of_one_tile() -> None:
    wrong = torch.zeros((20, 12), dtype=torch.bool)
    wrong[10:12, 9] = True
    place = locate(wrong, stored_by(), GRID)
    assert place is not None
    assert (place.programs, place.stored, place.unowned) == (1, 6, 0)
    (tile,) = place.tiles
    assert tile.program == (1, 1, 0)
    assert tile.stores == ((8, 15), (8, 11))
    assert tile.wrong == ((10, 11), (9, 9))
    assert tile.count == 2
    assert place.cut == (1,)
    assert "all cut short by the end of dimension 1" in str(place)


def test_the_tail_and_what_nobody_stores() -> None:
    wrong = torch.zeros((20, 12), dtype=torch.bool)
    wrong[16:] = True
    place = locate(wrong, stored_by(), GRID)
    assert place is not None
    assert [tile.program for tile in place.tiles] == [(2, 0, 0), (2, 1, 0)]
    assert place.cut == (0,)
    owners = stored_by()
    owners[17] = -1
    place = locate(wrong, owners, GRID)
    assert place is not None
    assert place.unowned == 12


def test_nothing_is_said_where_nothing_is_known() -> None:
    wrong = torch.ones(4, dtype=torch.bool)
    assert locate(wrong, torch.full((4,), -1, dtype=torch.int32), (1, 1, 1)) is None
