"""Known vulnerabilities of the pinned dependencies, asked of a public service with pip-audit.

    python docs/scripts/audit_dependencies.py

Exit 0: asked, none known. 1: some are known. 2: not checked, because pip-audit is missing or the service does not answer.
`make audit-dependencies` calls it. It is the only command of this repository that uses the network, and it is no part of the
package.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

PINS = Path(__file__).resolve().parents[2] / "constraints.txt"


def main() -> int:
    if find_spec("pip_audit") is None:
        print("not checked: pip-audit is not installed (pip install pip-audit)", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(PINS), "--no-deps", "--disable-pip"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0 or "Found " in done.stderr + done.stdout:
        print(done.stdout or done.stderr, end="")
        return done.returncode
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    print(f"not checked: pip-audit got no answer: {last[:300]}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
