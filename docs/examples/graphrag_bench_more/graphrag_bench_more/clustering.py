"""k-means clustering with scikit-learn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.arrays import IntArray


def kmeans(vectors: NDArray[Any], n_clusters: int, seed: int) -> IntArray:
    """Return the index of the k-means cluster of each row of `vectors` (n, d), int64 (n,).

    Only one thread is used, so that the clusters do not depend on the number of processors.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    model = KMeans(n_clusters, n_init=1, random_state=seed)
    with threadpool_limits(1):
        return np.asarray(model.fit_predict(np.asarray(vectors, np.float64)), np.int64)
