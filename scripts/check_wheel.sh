#!/usr/bin/env bash
# Builds the wheel, installs it alone into an empty folder, and runs the command from another empty
# folder with nothing of the checkout on the path. The wheel is under 4 MB, without tests and docs.
#   scripts/check_wheel.sh [PYTHON]     a Python that has the dependencies (default .venv/bin/python)
#   PIP_WHEEL_ARGS=--no-build-isolation uses the hatchling of that Python instead of fetching one
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
python="$(command -v "${1:-$root/.venv/bin/python}")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$python" -m pip wheel "$root" --no-deps --quiet ${PIP_WHEEL_ARGS:-} --wheel-dir "$work/wheel"
"$python" - "$work"/wheel/*.whl <<'EOF'
import os, sys, zipfile
assert os.path.getsize(sys.argv[1]) < 4_000_000, os.path.getsize(sys.argv[1])
first = {name.partition("/")[0] for name in zipfile.ZipFile(sys.argv[1]).namelist()}
assert not first & {"tests", "docs", "scripts"}, first
EOF
"$python" -m pip install --no-deps --quiet --target "$work/site" "$work"/wheel/*.whl

mkdir "$work/empty"
cd "$work/empty"
export PYTHONPATH="$work/site" HF_HUB_OFFLINE=1
run() { "$python" -m graphrag_bench "$@"; }

"$python" - "$work/site" <<'EOF'
import sys
import graphrag_bench, methods, operators
for package in (graphrag_bench, methods, operators):
    assert package.__file__.startswith(sys.argv[1]), package.__file__
EOF
run --help >/dev/null
run list >/dev/null
run table zhou2025/table5 >/dev/null
run plan dataset=sample >/dev/null
scripted=(dataset=toy embedder=hashing llm=scripted "llm.replies.Question=Ada Marsh")
run run "${scripted[@]}" method=vanilla | grep '^run: '
run run -m "${scripted[@]}" method=zeroshot,bm25,vanilla,hipporag,oracle limit=2 | grep -c '^run: ' | grep -qx 5
run ask "${scripted[@]}" method=bm25 "Who founded the Norvik Observatory?" | grep -qx 'Ada Marsh'
grep -q '"commit": "v' runs/toy/vanilla/*/metrics.json
run view --out page >/dev/null
test -s page/index.html && test -s page/vendor/cytoscape.min.js && test -s page/vendor/cytoscape.LICENSE
run view --demo --out demo >/dev/null
test -s demo/data/index.js
echo "the wheel works from an empty folder"
