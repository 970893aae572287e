"""Limits hold in every sliding minute, and concurrency follows the server."""

import random
import threading

import pytest

from graphrag_bench.models.attempts import Attempts, Clock
from graphrag_bench.models.faults import Again
from graphrag_bench.models.limits import Pace, Width
from graphrag_bench.models.outcomes import ServerFailed
from graphrag_bench.models.settings import Limits, Patience


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def most_in_a_minute(stamps, minute=60.0):
    """The largest sum of weights of stamps in any half-open window of a minute."""
    return max(
        sum(weight for at, weight in stamps if start <= at < start + minute) for start, _ in stamps
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_server_never_sees_too_much_whatever_the_delay_on_the_way(seed):
    chance = random.Random(seed)
    clock = Time()
    pace = Pace(20, 1000, clock=clock, sleep=clock.sleep)
    seen = []
    for _ in range(150):
        tokens = chance.randint(1, 150)
        stamp = pace.admit(tokens)
        latency = chance.uniform(0, 4)
        arrival = clock.now + chance.uniform(0, latency)
        clock.now += latency
        seen.append((arrival, tokens))
        pace.settle(stamp)
    assert most_in_a_minute([(at, 1) for at, _ in seen]) <= 20
    assert most_in_a_minute(seen) <= 1000


def test_requests_and_tokens_hold_together():
    clock = Time()
    pace = Pace(10, 100, guard=0.0, clock=clock, sleep=clock.sleep)
    for tokens in (40, 40):
        pace.settle(pace.admit(tokens))
    assert not clock.slept
    pace.admit(40)
    assert clock.now - 1000 == pytest.approx(60.03, abs=0.01)


def test_without_delays_the_limit_is_reached_and_not_only_kept():
    clock = Time()
    pace = Pace(60, None, guard=0.0, clock=clock, sleep=clock.sleep)
    for _ in range(180):
        pace.settle(pace.admit(0))
    assert clock.now - 1000 == pytest.approx(120, rel=0.01)


def test_tokens_are_corrected_when_the_reply_is_here():
    clock = Time()
    pace = Pace(None, 100, clock=clock, sleep=clock.sleep)
    pace.settle(pace.admit(90), 10)
    pace.admit(90)
    assert not clock.slept


def test_a_pause_holds_everybody():
    clock = Time()
    pace = Pace(None, None, clock=clock, sleep=clock.sleep)
    pace.pause(7)
    pace.admit(1)
    assert clock.now == pytest.approx(1007)


def test_a_request_larger_than_the_limit_never_fits():
    pace = Pace(None, 100, clock=Time(), sleep=lambda seconds: None)
    assert pace.fits(100) and not pace.fits(101)


def test_concurrency_is_halved_once_a_round_and_grows_by_one_a_round():
    clock = Time()
    width = Width(16, clock)
    for _ in range(5):
        width.cut(sent=clock.now)
    assert width.allowed == 8
    clock.now += 1
    width.cut(sent=clock.now)
    assert width.allowed == 4
    for _ in range(4):
        width.grow()
    assert width.allowed == 4
    width.grow()
    assert width.allowed == 5
    for _ in range(1000):
        width.grow()
    assert width.allowed == 16


def test_never_more_than_the_allowed_calls_are_under_way():
    width = Width(3, Time())
    active, most = [], []

    def work():
        for _ in range(50):
            with width.slot():
                active.append(1)
                most.append(len(active))
                active.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) <= 3


def test_a_try_that_patience_cut_off_does_not_hide_what_the_server_said_before() -> None:
    time = Time()
    clock = Clock(now=time, sleep=time.sleep, jitter=lambda: 0.0)
    faults = iter([Again("HTTP 500: disk full"), Again("WriteTimeout: patience.total is over")])
    attempts = Attempts(Limits(), Patience(total=10.0), clock)

    def send() -> str:
        fault = next(faults)
        time.now += 60.0 if "patience" in str(fault) else 1.0
        raise fault

    with pytest.raises(ServerFailed, match="disk full"):
        attempts.run(send, 10, lambda _: 0)
