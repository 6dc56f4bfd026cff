"""The allocator that `flagc.install` sets, where the program has set none."""

import contextvars

import triton
from triton.runtime import _allocation

import flagc
from flagc.pipeline import scratch_memory


def in_new_context(function):
    return contextvars.Context().run(function)


def test_installing_sets_an_allocator():
    def run():
        before = _allocation._allocator.get()
        with flagc.use_passes("count-ops"):
            return before, _allocation._allocator.get()

    before, during = in_new_context(run)
    assert isinstance(before, _allocation.NullAllocator)
    assert during is scratch_memory._from_torch


def test_the_programs_own_allocator_stays():
    def own(size, alignment, stream):
        raise AssertionError("nothing is launched")

    def run():
        triton.set_allocator(own)
        with flagc.use_passes("count-ops"):
            return _allocation._allocator.get()

    assert in_new_context(run) is own
