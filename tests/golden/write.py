"""Write the golden files anew: python tests/golden/write.py [METHOD ...]."""

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

import frozen

with tempfile.TemporaryDirectory() as home:
    for method in sys.argv[1:] or frozen.METHODS:
        frozen.write(method, frozen.freeze(method, Path(home)))
for file in frozen.files():
    if file.name.partition(".")[0] not in frozen.METHODS:
        file.unlink()
