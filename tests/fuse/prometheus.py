# SPDX-License-Identifier: MIT
"""prometheus.py start CONFIGURATION: starts a Prometheus in this directory and prints its process number and port.
prometheus.py query PORT EXPRESSION: prints the value of one series, or nothing when there is none."""
import json
import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request


def port_of(process):
    """At which it listens: port 0 was asked for, so that it is a free one."""
    own = set()
    for number in os.listdir(f"/proc/{process}/fd"):
        try:
            own.add(os.readlink(f"/proc/{process}/fd/{number}"))
        except FileNotFoundError:
            pass
    with open(f"/proc/{process}/net/tcp") as table:
        for line in list(table)[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                return int(words[1].split(":")[1], 16)
    return None


def start(configuration):
    log = open("prometheus.log", "w")
    process = subprocess.Popen(
        ["prometheus", f"--config.file={configuration}", "--storage.tsdb.path=data",
         "--web.listen-address=127.0.0.1:0", "--log.level=info"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for _ in range(1200):
        if process.poll() is not None:
            sys.exit(1)
        port = port_of(process.pid)
        if port:
            print(process.pid, port)
            return
        time.sleep(0.05)
    process.kill()
    sys.exit("fail: it does not listen")


def query(port, expression):
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(url, timeout=60) as answer:
        found = json.load(answer)["data"]["result"]
    if len(found) > 1:
        sys.exit(f"fail: {len(found)} series: {expression}")
    if found:
        print(found[0]["value"][1])


if sys.argv[1] == "start":
    start(sys.argv[2])
else:
    query(sys.argv[2], sys.argv[3])
