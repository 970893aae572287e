"""Servers on workers of Ray, which answer calls from all threads of this process."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any, Generic

from graphrag_bench.executors.executor import R, T, WorkerDied
from graphrag_bench.executors.on_ray import OnRay, deaths, enter, folders

IDLE_SECONDS = 30.0
"""Servers that are asked nothing for so long end, and their memory and GPUs are free."""


class ServersOnRay(Generic[T, R]):
    """Servers that start with the first calls, and end when they are idle or this object is gone.

    A server holds its share of GPUs and no CPU: tasks of the same cluster run beside it.
    """

    def __init__(
        self,
        cluster: OnRay,
        make: Callable[[], Callable[[T], R]],
        n_servers: int,
        *,
        n_calls: int = 1,
        gpus: float = 0.0,
    ) -> None:
        """A server is what `make` returns on a worker; it is given `n_calls` at a time.

        The cluster is joined here and not by the first call: one that is started on this machine
        ends with the thread that started it.
        """
        self._ray = cluster.ray
        self.n_servers = n_servers
        self._make = make
        self._n_calls = n_calls
        self._gpus = gpus
        self._changed = threading.Condition()
        self._servers: list[Any] = [None] * n_servers
        self._under_way = [0] * n_servers
        self._ending: threading.Timer | None = None

    def call(self, asked: T) -> R:
        """The answer of the server with the fewest calls; a call waits here until one has room.

        Raises what the server raises, and WorkerDied where it ended first: the next call that is
        given to its place starts another.
        """
        ray = self._ray
        place, server = self._taken()
        try:
            found: R = ray.get(server.answer.remote(asked))
        except ray.exceptions.RayTaskError as error:
            raise (error.cause or error) from None
        except deaths(ray) as error:
            self._given_up(place, server)
            raise WorkerDied(str(error).strip().splitlines()[0]) from None
        finally:
            self._left(place)
        return found

    def _taken(self) -> tuple[int, Any]:
        with self._changed:
            self._changed.wait_for(lambda: min(self._under_way) < self._n_calls)
            place = self._under_way.index(min(self._under_way))
            if self._servers[place] is None:
                self._servers[place] = self._started()
            self._under_way[place] += 1
            return place, self._servers[place]

    def _left(self, place: int) -> None:
        with self._changed:
            self._under_way[place] -= 1
            self._changed.notify()
            if self._ending is not None:
                self._ending.cancel()
            if not any(self._under_way):
                self._ending = threading.Timer(IDLE_SECONDS, self._end)
                self._ending.daemon = True
                self._ending.start()

    def _end(self) -> None:
        """Let go of all servers, unless one is at work: Ray ends a server that nobody holds."""
        with self._changed:
            if not any(self._under_way):
                self._servers = [None] * self.n_servers

    def _started(self) -> Any:
        ray = self._ray
        room = {"num_cpus": 0, "num_gpus": self._gpus} if self._gpus else {}
        server = ray.remote(_Server).options(
            max_concurrency=self._n_calls, scheduling_strategy="SPREAD", **room
        )
        return server.remote(ray.cloudpickle.dumps(self._make), folders())

    def _given_up(self, place: int, server: Any) -> None:
        """Have another server started in this place, unless that was done for another call."""
        with self._changed:
            if self._servers[place] is server:
                self._servers[place] = None


class _Server:
    def __init__(self, make: bytes, places: tuple[str, ...]) -> None:
        self._make = make
        self._places = places
        self._making = threading.Lock()
        self._answer: Callable[[Any], Any] | None = None

    def answer(self, asked: Any) -> Any:
        with self._making:
            if self._answer is None:
                enter(self._places)
                self._answer = pickle.loads(self._make)()
        return self._answer(asked)
