"""A right launch, and then what the first argument says."""

import os
import signal
import sys
import threading
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x_ptr + lanes, tl.load(x_ptr + lanes) + 1)


@triton.jit
def divide(x_ptr, n):
    tl.store(x_ptr, 100 // n)


@triton.jit
def follow(x_ptr, n):
    tl.store(x_ptr, tl.load(x_ptr + n) + 1)


@triton.jit
def spin(x_ptr, n):
    for i in range(n):
        tl.store(x_ptr + i % 64, i)


x = torch.zeros(64, dtype=torch.int32)
add_one[(1,)](x, BLOCK=64)
print("the script says", int(x[3]))
if sys.argv[1] == "divide":
    divide[(1,)](x, 0)
if sys.argv[1] == "follow":
    follow[(1,)](x, 1 << 40)
if sys.argv[1] == "crash":
    spin[(1,)](x, 3)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGSEGV)).start()
    spin[(1,)](x, (1 << 30) + 1)  # no kernel is known that crashes, so this one is shot
if sys.argv[1] == "wait":
    print("waiting", flush=True)
    time.sleep(100)
if sys.argv[1] == "exit":
    sys.exit(3)
if sys.argv[1] == "fail":
    raise ValueError("no more")
if sys.argv[1] == "outside":
    import ctypes

    ctypes.string_at(0)
