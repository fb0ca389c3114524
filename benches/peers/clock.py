"""Measures repeated work for a given time."""

import statistics
import time

LEAST_REPEATS = 2


def timed(work, seconds, count):
    """Repeats the work for about `seconds`, after one repeat that is not measured.

    Returns the keys that trainer/examples/throughput/clock.rs returns; a repeat computes `count`
    images.
    """
    work()
    times, begun = [], time.perf_counter()
    while len(times) < LEAST_REPEATS or time.perf_counter() - begun < seconds:
        since = time.perf_counter()
        work()
        times.append(time.perf_counter() - since)
    return {
        "seconds_per_image": statistics.median(times) / count,
        "best_seconds_per_image": min(times) / count,
    }
