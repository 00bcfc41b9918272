# SPDX-License-Identifier: MIT
"""What the tests of rules have in common: a run of the simulation, and a figure that must lie in a range."""
import json
import os
import subprocess
import sys

SIM = os.path.join(os.environ["DATASETFS_BUILD"], "tests/sim/sim")
MEMBER = 160000  # reads a second of a member: 16 at a time, 100 us each
CLUSTER = {"members": 12, "copies": 2, "threads": 0, "load": 50, "to": 600, "from": 300}
failures = []


def sim(*switches, **options):
    """One run; --NAME of each switch, --NAME=VALUE of each option."""
    words = [f"--{name}" for name in switches]
    words += [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    run = subprocess.run([SIM, "--json", *words], capture_output=True, text=True, check=False)
    if run.returncode or run.stderr:
        sys.exit(f"fail: sim {' '.join(words)}: status {run.returncode}, {run.stderr}")
    return json.loads(run.stdout)


def check(what, found, low, high):
    good = low <= found <= high
    print(f"{'    ' if good else 'FAIL'} {what}: {found:.6g}, expected {low:.6g} to {high:.6g}", flush=True)
    if not good:
        failures.append(what)


def end():
    sys.exit(f"fail: {len(failures)} rules do not hold" if failures else 0)
