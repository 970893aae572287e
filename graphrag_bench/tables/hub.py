"""Share runs and artifacts in a dataset repository on the Hugging Face Hub.

A run is the folder runs/DATASET/METHOD/KEY with the SHA-256 digest of each file. An artifact is
artifacts/KEY.tar.gz. The access token comes from HF_TOKEN or from `hf auth login`.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from graphrag_bench.artifacts.sharing import export_artifacts, import_artifacts, with_inputs
from graphrag_bench.artifacts.sharing import find as find_artifact
from graphrag_bench.artifacts.store import sha256
from graphrag_bench.data.dataset import load_card
from graphrag_bench.data.fetching import HUB
from graphrag_bench.errors import UserError, by_prefix
from graphrag_bench.fingerprint import digest
from graphrag_bench.run.folder import read_json, read_lines, write_rows, write_whole
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.tables.board import public, read_result, write_result
from graphrag_bench.terminal import refuse_secrets
from graphrag_bench.text import counted

DIGESTS, CARD = "sha256.json", "README.md"
_PART = r"(?!\.)[\w.-]+"
_RUN = re.compile(rf"(runs/{_PART}/{_PART}/{_PART})/{re.escape(DIGESTS)}", re.ASCII)
_FILE = re.compile(
    r"(trial-\d+/)?((metrics|environment|artifacts)\.json|config\.yaml"
    r"|(records|contexts|timing|ledger|judged)\.jsonl)",
    re.ASCII,
)


def push_runs(runs: Sequence[StoredRun], home: str | Path, repo: str, *, texts: bool) -> list[str]:
    """Upload runs and a dataset card, without paths and addresses. Return a line for each run.

    If `texts` is false, traces and contexts with texts are left out. Raises UserError if
    `write_result` rejects a run.
    """
    with TemporaryDirectory() as scratch:
        folder, sections, lines = Path(scratch), {}, []
        for run in runs:
            row = read_result(write_result(run, home, folder / "board"))
            place = f"runs/{'/'.join(run.folder.path.resolve().parts[-3:])}"
            left = _copy(run.folder.path, folder / place, texts)
            hashes = _hashes(folder / place)
            write_whole(folder / place / DIGESTS, json.dumps(hashes, indent=1) + "\n")
            lines.append(f"{place}: {left} contexts left out; content: {digest(hashes)}")
            sections[place] = _run_section(row, left)
        _upload(repo, folder, sections)
    return lines


def pull_runs(repo: str, home: Path) -> list[str]:
    """Download all runs of a repository into HOME/runs; return a line for each run.

    Raises UserError without storing any run if a file has an unsafe name or a different SHA-256
    digest, or if a different run is already stored in the same folder.
    """
    home.mkdir(parents=True, exist_ok=True)
    with _hub(repo) as api, TemporaryDirectory(prefix=".pull-", dir=home) as scratch:
        lines, new = [], []
        matches = map(_RUN.fullmatch, _names(api, repo))
        for place in sorted(match[1] for match in matches if match):
            stated = read_json(_download(api, repo, f"{place}/{DIGESTS}", scratch))
            for name, stated_digest in stated.items():
                if not _FILE.fullmatch(name):
                    raise UserError(f"{repo}: '{place}/{name}' is not a file of a run.")
                if sha256(_download(api, repo, f"{place}/{name}", scratch)) != stated_digest:
                    raise UserError(f"{repo}: {place}/{name} does not match its sha256 digest.")
            present = (home / place).exists()
            if present and not stated.items() <= _hashes(home / place).items():
                raise UserError(
                    f"{home / place} differs from the run in {repo} and is not overwritten. "
                    "Pull into another --home, or remove the run: graphrag-bench runs rm."
                )
            new += [] if present else [place]
            state = "present" if present else "new"
            lines.append(f"{state}: {home / place}; content: {digest(stated)}")
        if not lines:
            raise UserError(f"{repo} has no runs.")
        for place in new:
            (Path(scratch) / place / DIGESTS).unlink()
            (home / place).parent.mkdir(parents=True, exist_ok=True)
            (Path(scratch) / place).rename(home / place)
    return lines


def push_artifact(artifacts: Path, key: str, repo: str) -> str:
    """Upload an artifact with its inputs; return the digest of the content."""
    one = find_artifact(artifacts, key)
    items = with_inputs(artifacts, one)
    with TemporaryDirectory() as scratch:
        file = Path(scratch) / "artifacts" / f"{one.key}.tar.gz"
        file.parent.mkdir()
        content = export_artifacts(items, file)
        text = f"{one.resource} of {one.dataset} with its inputs. {_licence(one.dataset)}\n\n"
        text += "\n".join(f"- {item.resource} `{item.key}`" for item in items)
        text += f"\n\nContent: `{content}`. It contains texts of the data set."
        _upload(repo, Path(scratch), {f"artifacts/{one.key}": text})
    return content


def pull_artifact(repo: str, key: str, artifacts: Path) -> tuple[list[str], list[str], str]:
    """Download an artifact with its inputs, and import it with `import_artifacts`."""
    with _hub(repo) as api, TemporaryDirectory() as scratch:
        names = [re.fullmatch(rf"artifacts/({_PART})\.tar\.gz", one) for one in _names(api, repo)]
        files = {match[1]: match[0] for match in names if match}
        file = _download(api, repo, by_prefix(key, files, "artifact", repo, lambda _: ""), scratch)
        return import_artifacts(file, artifacts)


def _copy(source: Path, target: Path, texts: bool) -> int:
    """Copy a run without paths and addresses; return the number of omitted contexts."""
    left, dropped = 0, () if texts else ("trace",)
    for path in sorted(source.rglob("*")):
        new = target / (name := path.relative_to(source).as_posix())
        if path.is_symlink() or not _FILE.fullmatch(name):
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            rows = list(read_lines(path))
            kept = [row for row in rows if texts or not any(row.get("texts", ()))]
            left += len(rows) - len(kept)
            write_rows(new, ({key: public(value) if key == "error" else value
                              for key, value in row.items() if key not in dropped}
                             for row in kept))  # fmt: skip
        elif path.suffix == ".yaml":
            values = public(yaml.safe_load(path.read_text(encoding="utf-8")))
            write_whole(new, yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
        else:
            values = public(read_json(path))
            if "platform" in values:
                values["platform"] = values["platform"].partition("-")[0]
            write_whole(new, json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False))
    return left


def _run_section(row: dict[str, Any], left: int) -> str:
    return "\n".join([
        f"{row['title']} on {row['dataset']} (corpus `{row['corpus']}`, "
        f"{counted(row['n'], 'question')}, {row['failed']} failed). "
        f"Reader: {row['llm'] or 'none'}; embedder: {row['embedder'] or 'none'}; "
        f"commit {row['environment']['commit']}.",
        f"{_licence(row['card'])} {left} contexts with texts were left out.",
        "", "| metric | mean | 95 % interval | n |", "|---|---|---|---|",
        *(f"| {name} | {one['mean']:.3f} | {one['low']:.3f} to {one['high']:.3f} | {one['n']} |"
          for name, one in row["metrics"].items()),
        "", "```", row["command"], "```",
    ])  # fmt: skip


def _licence(name: str) -> str:
    try:
        return f"Licence of the data set's texts: {load_card(name).license}."
    except UserError:
        return "The data set has no card: ask its publisher for the licence of its texts."


def _hashes(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}


@contextmanager
def _hub(repo: str) -> Iterator[Any]:
    """Return a client of the Hub that raises every failure as a UserError of one line."""
    import httpx2
    from huggingface_hub import HfApi

    endpoint = os.environ.get("HF_ENDPOINT") or HUB
    refuse_secrets("HF_ENDPOINT", endpoint)
    try:
        yield HfApi(endpoint.rstrip("/"))
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        why = {
            401: "no such repository, or no token: set HF_TOKEN or run `hf auth login`",
            403: "the token does not have this permission",
            404: "no such repository",
        }.get(status) or " ".join(str(error).split())[:200]  # type: ignore[arg-type]
        raise UserError(f"{repo} at {endpoint}: {why}.") from None


def _names(api: Any, repo: str) -> list[str]:
    return [one.rfilename for one in api.dataset_info(repo).siblings or ()]


def _download(api: Any, repo: str, name: str, scratch: str) -> Path:
    return Path(api.hf_hub_download(repo, name, repo_type="dataset", local_dir=scratch))


def _upload(repo: str, folder: Path, sections: dict[str, str]) -> None:
    """Upload a folder, and add a section for each run or artifact to the dataset card."""
    with _hub(repo) as api:
        api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        if CARD in _names(api, repo):
            text = _download(api, repo, CARD, str(folder)).read_text(encoding="utf-8")
            known = (one.partition("\n") for one in text.split("\n## ")[1:])
            sections = {name: body.strip() for name, _, body in known} | sections
            shutil.rmtree(folder / ".cache", ignore_errors=True)
        head = "---\ntags: [graphrag-bench]\nviewer: false\n---\n"
        head += "# Runs and artifacts of graphrag-bench\n\nDownload and verify them: "
        head += f"`graphrag-bench runs pull {repo}`, `graphrag-bench artifacts pull {repo} KEY`."
        body = "".join(f"\n\n## {name}\n\n{sections[name]}" for name in sorted(sections))
        (folder / CARD).write_text(f"{head}{body}\n", encoding="utf-8")
        message = f"graphrag-bench: {', '.join(sections)}"[:200]
        api.upload_folder(repo_id=repo, repo_type="dataset", folder_path=folder,
                          commit_message=message)  # fmt: skip
