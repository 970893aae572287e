"""Measure the memory of a synthetic world with N passages.

The first `python scripts/memory.py N HOME` builds the artifacts (planted extraction, vectors of 256
numbers) and prints the size of each part; `peak` is the additional memory during the build. The
second call asks 100 questions and prints the memory that they need.
"""

import sys
from pathlib import Path

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment

WORDS = "dataset=world method=hlightrag build.text_extraction=planted embedder=hashing answer=off"
OF_NODES = "names descriptions types node_chunk node_fragments row_of dictionary chunks_per_n"


def memory(field: str) -> float:
    """Return VmRSS, VmHWM or RssFile of this process in MB."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


n, home = sys.argv[1:]
world = f"{WORDS} trace=off dataset.size={int(n) * 9 // 10} paths.home={home}".split()
experiment, quiet = Experiment.prepare(compose_settings(world)), Progress(quiet=True)
store, before = experiment.store(quiet), memory("VmRSS")
if all(map(store.holds, experiment.plan)):
    execute(experiment, quiet)
    print(f"questions: {memory('VmHWM') - before:.0f} MB, mapped {memory('RssFile'):.0f} MB")
    sys.exit()
print("| part | rows | MB | bytes per row | peak MB |\n|---|---|---|---|---|")
for one in experiment.plan:
    Path("/proc/self/clear_refs").write_text("5")  # reset VmHWM
    before, folder = memory("VmRSS"), store.folder(one)
    built = store.resources(experiment.plan, {one.resource}, experiment.models)[one.resource]
    peak, starts = memory("VmHWM") - before, tuple(OF_NODES.split())
    paths = [path for path in folder.rglob("*.*") if path.is_file()]
    parts = {one.resource: (len(built) if hasattr(built, "__len__") else int(n), paths)}
    if one.resource == "graph":
        named = ((path, path.relative_to(folder).parts) for path in paths)
        nodes = [path for path, names in named if any(name.startswith(starts) for name in names)]
        rest = [path for path in paths if path not in nodes]
        parts = {"nodes": (built.n_nodes, nodes), "relationships": (built.n_relationships, rest)}
    for name, (rows, files) in parts.items():
        size = sum(path.stat().st_size for path in files)
        print(f"| {name} | {rows:,} | {size / 1e6:.1f} | {size / rows:,.0f} | {peak:.0f} |")
