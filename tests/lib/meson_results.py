# SPDX-License-Identifier: MIT
"""Meson's testlog.json as lines of tests/run: status, seconds, name, reason."""
import json
import sys

STATUS = {"OK": "pass", "EXPECTEDFAIL": "pass", "SKIP": "skip"}


def reason_of(test, status):
    if status == "pass":
        return ""
    lines = [line for line in (test.get("stdout") or "").splitlines() + (test.get("stderr") or "").splitlines() if line]
    if status == "skip":
        return next((line[6:] for line in lines if line.startswith("skip: ")), "no reason given")
    wanted = [line for line in lines if "FAILED" in line or "ERROR" in line or "error:" in line]
    return (wanted or lines or [test.get("result", "failed")])[0].strip()[:150].replace("\t", " ")


for line in open(sys.argv[1]):
    test = json.loads(line)
    status = STATUS.get(test["result"], "FAIL")
    print(status, f"{test.get('duration', 0):.1f}", test["name"].split(":")[-1].strip().split(" / ")[-1],
          reason_of(test, status), sep="\t")
