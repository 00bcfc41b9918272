# SPDX-License-Identifier: MIT
"""Time limits of tests, which are there to end what hangs, not what waits for a processor."""
import os
import time

CROWD = 4 * os.cpu_count()  # processes that run or wait for a disk; as many as tests/run has at a time are usual


class Patience:
    """So many seconds, each of which counts for less while the machine has more to do than tests: with five times
    CROWD, a fifth."""

    def __init__(self, seconds):
        self.left = seconds
        self.asked = time.monotonic()

    def is_over(self):
        now = time.monotonic()
        self.left -= (now - self.asked) * min(1, CROWD / max(os.getloadavg()[0], 1))
        self.asked = now
        return self.left <= 0
