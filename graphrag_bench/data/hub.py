"""The files of a data set on the hub, as huggingface_hub lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from urllib.parse import quote

from graphrag_bench.data.card import UNKNOWN, Source
from graphrag_bench.data.download import Remote
from graphrag_bench.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from huggingface_hub import DatasetInfo

HUB = "https://huggingface.co"
"""The hub's address; HF_ENDPOINT names a mirror."""
_SECONDS = 30.0


@dataclass(frozen=True)
class Listing:
    """The files of a data set at one commit, by path; their sha256 where the hub tells it."""

    hub: str
    commit: str
    files: Mapping[str, Remote]

    def matching(self, pattern: str) -> list[Remote]:
        """The files of that path or pattern, by path; raises UserError for none."""
        if found := sorted(path for path in self.files if fnmatchcase(path, pattern)):
            return [self.files[path] for path in found]
        paths = [*self.files]
        hint = did_you_mean(pattern, paths, paths[:8])
        raise UserError(f"{self.hub} has no file '{pattern}' at {self.commit}. {hint}")


def listing(source: Source, endpoint: str) -> Listing:
    """The files of a card's data set at its revision, or at the newest where that is unknown.

    Faults that may pass are waited for, and no log-in is sent. Raises UserError when the hub cannot
    be reached, has no such set, or asks for a log-in.
    """
    from huggingface_hub import hf_hub_url

    revision = "main" if source.revision == UNKNOWN else source.revision
    told = _told(f"{endpoint}/api/datasets/{source.hub}/revision/{quote(revision)}", source.url)
    commit = told.sha or revision
    files = {}
    for row in told.siblings or []:
        path, sha256 = row.rfilename, row.lfs.sha256 if row.lfs else ""
        url = hf_hub_url(source.hub, path, repo_type="dataset", revision=commit, endpoint=endpoint)
        files[path] = Remote(url, path.rpartition("/")[2], sha256, row.size, source.url)
    return Listing(source.hub, commit, files)


def _told(address: str, page: str) -> DatasetInfo:
    import httpx2
    from huggingface_hub import DatasetInfo
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    from huggingface_hub.utils import hf_raise_for_status, http_backoff

    try:
        reply = http_backoff("GET", address, params={"blobs": True}, timeout=_SECONDS)
        hf_raise_for_status(reply)
        return DatasetInfo(**reply.json())
    except HfHubHTTPError as error:
        raise UserError(
            f"{address}: the hub says {error.response.status_code}. The set may ask for a log-in, "
            f"or have moved: see {page}."
        ) from None
    except OfflineModeIsEnabled:
        raise UserError("HF_HUB_OFFLINE=1 forbids asking the hub; unset it to fetch.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UserError(
            f"{address}: the hub cannot be reached ({error}). A mirror is named by the "
            "environment (HF_ENDPOINT=ADDRESS); files that are on disk are used by "
            "dataset.root=FOLDER."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{address}: the reply is not a listing of a data set.") from None
