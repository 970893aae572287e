"""Run a command until standard input, a pipe from the parent, ends: `child.py COMMAND...`."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

SECONDS_TO_END = 10


def main(*command: str) -> int:
    """Run the command in its own process group, end the group, and return the exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def end(_: object = None) -> None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
            for _ in range(10 * SECONDS_TO_END):
                time.sleep(0.1)
                os.killpg(child.pid, 0)
            os.killpg(child.pid, signal.SIGKILL)

    threading.Thread(target=lambda: end(sys.stdin.buffer.read()), daemon=True).start()
    code = child.wait()
    end()
    return code


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]) & 0xFF)  # a thread may still be reading the input
