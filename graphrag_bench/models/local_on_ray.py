"""A local model whose calls are made by model servers on workers of Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from graphrag_bench.executors.executor import MOST_LOSSES, WorkerDied
from graphrag_bench.executors.on_ray import OnRay
from graphrag_bench.executors.servers_on_ray import ServersOnRay
from graphrag_bench.models.fan_out import Layer, Request
from graphrag_bench.models.in_workers import Recipe, made
from graphrag_bench.models.local import Local
from graphrag_bench.models.outcomes import CallFailed, Completion, RunStopped


class TryLost(Exception):
    """A server worked on a call and its reply never arrived."""


class LocalOnRay(Layer):
    """A local model that is loaded by servers on workers of Ray, and not by this process.

    A call that a server's end cut off is made again on another; it counts as a failed try. Cache,
    budget and ledger are layers around this one, in this process. The model has no key and no
    address outside of its worker: a model behind an API is never sent to workers.
    """

    def __init__(self, inner: Local, servers: ServersOnRay[Request, Completion]) -> None:
        super().__init__(inner)
        self._servers = servers
        self.concurrency = servers.n_servers * inner.concurrency

    @classmethod
    def of(
        cls,
        inner: Local,
        settings: Mapping[str, Any],
        cluster: OnRay,
        *,
        n_servers: int | None,
        gpus: float,
    ) -> LocalOnRay:
        """The model that was made with these settings, on `n_servers`, by default one a worker.

        Without `threads` a server computes in one: a reply can depend on their number, and must
        not on the size of the cluster.
        """
        recipe = Recipe.of("llm", {**settings, "threads": inner.threads or 1}, inner)
        servers = ServersOnRay(
            cluster,
            partial(_server, recipe),
            cluster.n_servers(n_servers, gpus),
            n_calls=inner.concurrency,
            gpus=gpus,
        )
        return cls(inner, servers)

    def call(self, request: Request) -> Completion:
        """The reply of a server; raises RunStopped for a call that servers die of again and again.

        A try that a server worked on and gave no reply to is made again too; after as many of
        those CallFailed is raised.
        """
        plain = replace(request, lost=None)
        last: Exception | None = None
        for n_lost in range(MOST_LOSSES):
            try:
                reply = self._servers.call(plain)
            except CallFailed as failure:
                failure.retries += n_lost
                raise
            except (WorkerDied, TryLost) as loss:
                last = loss
                if request.lost is not None:
                    request.lost()
            else:
                return replace(reply, retries=reply.retries + n_lost)
        if isinstance(last, TryLost):
            raise CallFailed("retries_exhausted", str(last), MOST_LOSSES)
        raise RunStopped(
            f"The model server of one call ended {MOST_LOSSES} times without a reply ({last}): it "
            "was killed, or its machine has too little memory for so many servers. Replies that "
            "arrived are stored; run the same command again with fewer: ray.llm_workers=N."
        )


def _server(recipe: Recipe) -> Callable[[Request], Completion]:
    return partial(_reply, made(recipe))


def _reply(model: Local, request: Request) -> Completion:
    return model.call(replace(request, lost=_lost))


def _lost() -> None:
    raise TryLost("A model server took a call and gave no reply to it, within llm.patience.read.")
