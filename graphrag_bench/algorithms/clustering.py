"""Cluster vectors with Gaussian mixtures or with balanced k-means."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from graphrag_bench.arrays import DECIMALS, FloatArray, IntArray
from graphrag_bench.errors import MissingPackage

Reduction = Literal["pca", "umap"]
Clusters = list[IntArray]
"""The rows of each cluster in ascending order. Clusters are sorted by comparing these lists."""

_MOST_COMPONENTS, _MOST_DEPTH, _LOCAL_NEIGHBOURS = 50, 20, 10
_SLACK, _MOST_ITERATIONS, _BLOCK = 0.2, 10, 4096


@dataclass(frozen=True)
class Mixture:
    """Settings of clustering by Gaussian mixtures.

    Vectors are first reduced to `dimension` dimensions by the method `reduction`. A row joins each
    component whose posterior is above `threshold` (0..1), or else its most probable component.
    Mixtures of 1, 2, ... up to min(50, n) - 1 components are fitted to n rows, until `patience`
    successive mixtures have not lowered the BIC. The mixture with the lowest BIC is used. Ties are
    broken by fewer components. More than `max_swept_rows` rows get max(n // 100 - 1, 1) components.
    """

    dimension: int
    threshold: float
    max_tokens: int
    reduction: Reduction
    patience: int | None = 10
    max_swept_rows: int | None = 5000


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, so that results do not depend on the number of cores."""
    import sklearn.cluster  # noqa: F401, only libraries that are loaded are limited
    import sklearn.decomposition
    import sklearn.mixture  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@_one_thread()
def mixture_clusters(
    vectors: NDArray[Any], n_tokens: IntArray, mixture: Mixture, rng: Generator
) -> Clusters:
    """Return soft clusters of the rows of `vectors` (n, d). Each row is in at least one cluster.

    All rows are clustered, and then the rows within each cluster. The vectors are reduced anew for
    each clustering. A cluster is clustered again if it has more than dimension + 1 rows and more
    than `max_tokens` tokens. `n_tokens` (int64, n) is the number of tokens of each row.
    Source: RAPTOR (Sarthi et al. 2024), section 3, and its code; code of Zhou et al. 2025.
    Deviation: if PCA reduces the vectors, a cluster that no mixture splits is divided by balanced
    k-means into parts of about `max_tokens` tokens, because PCA leaves no gaps between groups.
    Equal clusters are returned once. RAPTOR tries all numbers of components (`patience=None`).
    """
    points = np.asarray(vectors, np.float64)

    def split(rows: IntArray, depth: int) -> Clusters:
        clusters: Clusters = []
        for cluster in _two_levels(points[rows], mixture, rng):
            members = rows[cluster]
            total = int(n_tokens[members].sum())
            is_small = len(members) <= mixture.dimension + 1 or total <= mixture.max_tokens
            if not is_small and depth and len(members) < len(rows):
                clusters += split(members, depth - 1)
            elif not is_small and mixture.reduction == "pca":
                size = max(len(members) // -(-total // mixture.max_tokens), 2)
                parts = balanced_clusters(points[members], size, rng)
                clusters += [members[part] for part in parts]
            else:
                clusters.append(members)
        return clusters

    return _in_order(split(np.arange(len(points)), _MOST_DEPTH))


def _two_levels(points: FloatArray, mixture: Mixture, rng: Generator) -> Clusters:
    clusters: Clusters = []
    for rows in mixture_layer(points, mixture, rng):
        is_small = len(rows) <= mixture.dimension + 1
        inner = [] if is_small else mixture_layer(points[rows], mixture, rng, _LOCAL_NEIGHBOURS)
        clusters += [rows] if is_small else [rows[part] for part in inner]
    return _in_order(clusters)


@_one_thread()
def mixture_layer(
    vectors: NDArray[Any], mixture: Mixture, rng: Generator, neighbours: int | None = None
) -> Clusters:
    """Return the soft clusters of the rows of `vectors` (n, d) that a single mixture finds.

    `neighbours` is the neighbourhood size of UMAP (default sqrt(n - 1)). `max_tokens` is ignored.
    """
    points = np.asarray(vectors, np.float64)
    n = len(points)
    if n < 3 or len(np.unique(np.round(points, DECIMALS), axis=0)) < 3:
        return [np.arange(n)] if n else []
    dimension = min(mixture.dimension, n - 2, points.shape[1])
    seed, next_seed = (int(rng.integers(2**31 - 1)) for _ in range(2))
    if mixture.reduction == "pca":
        from sklearn.decomposition import PCA

        solver = "covariance_eigh" if n > points.shape[1] else "full"
        reduced = PCA(dimension, svd_solver=solver).fit_transform(points)
    else:
        check_reduction(mixture.reduction)
        from umap import UMAP

        near = min(neighbours or max(int(np.sqrt(n - 1)), 2), n - 1)
        model = UMAP(n_neighbors=near, n_components=dimension, metric="cosine", random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # UMAP warns that a seed makes it use one thread
            reduced = model.fit_transform(points)
    posterior = _posteriors(np.round(reduced.astype(np.float64), DECIMALS), mixture, next_seed)
    joins = np.round(posterior, DECIMALS) > mixture.threshold
    joins[np.arange(n), posterior.argmax(axis=1)] |= ~joins.any(axis=1)
    return _in_order([np.flatnonzero(column) for column in joins.T if column.any()])


def check_reduction(reduction: Reduction) -> None:
    """Raise MissingPackage if a reduction needs a package that is not installed."""
    if reduction == "umap" and find_spec("umap") is None:
        raise MissingPackage(
            "reduction=umap needs the package umap-learn: pip install 'graphrag-bench[umap]'. "
            "reduction=pca needs no further package."
        )


def _posteriors(points: FloatArray, mixture: Mixture, seed: int) -> FloatArray:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    n, n_distinct = len(points), len(np.unique(points, axis=0))
    swept = mixture.max_swept_rows is None or n <= mixture.max_swept_rows
    sweep = range(1, min(_MOST_COMPONENTS, n)) if swept else [max(n // 100 - 1, 1)]
    lowest, best, in_vain = np.inf, None, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k in sweep:
            if k > n_distinct:
                break
            model = GaussianMixture(k, n_init=1, random_state=seed)
            try:
                bic = float(np.round(model.fit(points).bic(points), DECIMALS))
            except (ValueError, np.linalg.LinAlgError):  # points too alike for a covariance
                continue
            in_vain += 1
            if bic < lowest:
                lowest, best, in_vain = bic, model, 0
            if in_vain == mixture.patience:
                break
    return np.ones((n, 1)) if best is None else np.asarray(best.predict_proba(points), np.float64)


def _in_order(clusters: Clusters) -> Clusters:
    distinct = sorted({tuple(np.sort(cluster).tolist()) for cluster in clusters})
    return [np.array(cluster, np.int64) for cluster in distinct]


@_one_thread()
def balanced_clusters(vectors: NDArray[Any], cluster_size: int, rng: Generator) -> Clusters:
    """Return clusters of about `cluster_size` rows of `vectors` (n, d). Each row is in one cluster.

    After each assignment of k-means, a cluster of more than 1.2 n / k rows is reduced to this size.
    The rows that are farthest from its centre move to the nearest centre of a cluster with fewer
    than n / k rows. Ties are broken by the lower row. An empty cluster ends k-means.
    Source: Zhou et al. 2025, section 7.1 (RAPTOR-K), and the authors' code.
    """
    points = np.asarray(np.round(vectors, DECIMALS), np.float64)
    n = len(points)
    k = max(1, n // cluster_size)
    centres = points[np.sort(rng.choice(n, size=k, replace=False))] if n else points
    labels: IntArray = np.zeros(n, np.int64)
    for _ in range(_MOST_ITERATIONS if k > 1 else 0):
        blocks = (points[start : start + _BLOCK] for start in range(0, n, _BLOCK))
        nearest = [_distances(block, centres).argmin(axis=1) for block in blocks]
        labels = _balanced(points, centres, np.concatenate(nearest).astype(np.int64))
        counts = np.bincount(labels, minlength=k)
        if not counts.all():
            break
        before, centres = centres, np.zeros_like(centres)
        np.add.at(centres, labels, points)
        centres /= counts[:, None]
        if np.linalg.norm(centres - before) <= 1e-4:
            break
    return _in_order([np.flatnonzero(labels == label) for label in np.unique(labels)])


def _distances(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Return squared distances (n, k) minus the squared norms of the points, rounded."""
    distances = (centres**2).sum(axis=1)[None] - 2.0 * points @ centres.T
    return np.asarray(np.round(distances, DECIMALS), np.float64)


def _balanced(points: FloatArray, centres: FloatArray, labels: IntArray) -> IntArray:
    labels, share = labels.copy(), len(points) / len(centres)
    counts = np.bincount(labels, minlength=len(centres))
    for cluster in np.flatnonzero(counts > share * (1 + _SLACK)):
        members = np.flatnonzero(labels == cluster)
        far = np.round(((points[members] - centres[cluster]) ** 2).sum(axis=1), DECIMALS)
        for row in members[np.lexsort((members, -far))]:
            room = np.flatnonzero(counts < share)
            if counts[cluster] <= share * (1 + _SLACK) or not len(room):
                break
            target = room[_distances(points[row][None], centres[room])[0].argmin()]
            labels[row] = target
            counts[cluster] -= 1
            counts[target] += 1
    return labels
