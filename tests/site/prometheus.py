# SPDX-License-Identifier: MIT
"""prometheus.py start CONFIGURATION: starts a Prometheus in this directory and prints its process number and port.
prometheus.py query PORT EXPRESSION: prints the value of one series, or nothing when there is none.
prometheus.py panels PORT DASHBOARD: each query of a dashboard finds something, with the labels of its legend.
prometheus.py scrape OBJECT ADDRESS: prints what the operator makes of a ScrapeConfig, with the exporter at that address
in place of a cluster's nodes, as Debian's Prometheus knows no Kubernetes."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.environ["LIB"])
from patience import Patience  # noqa: E402


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


def series(port, expression):
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        sys.exit(f"fail: {expression}: {error.read().decode()}")


def query(port, expression):
    found = series(port, expression)
    if len(found) > 1:
        sys.exit(f"fail: {len(found)} series: {expression}")
    if found:
        print(found[0]["value"][1])


def check_panel(port, expression, labels):
    patience = Patience(120)
    while not (found := series(port, expression)):
        if patience.is_over():
            sys.exit(f"fail: nothing: {expression}")
        time.sleep(0.2)
    for one in found:
        if not labels <= set(one["metric"]):
            sys.exit(f"fail: {expression}: {one['metric']} has not all of {labels}")


def panels(port, path):
    dashboard = json.loads(pathlib.Path(path).read_text())
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    everything = {name: variable.get("allValue") for name, variable in variables.items()} | {"__rate_interval": "1m"}

    def filled(text):
        return re.sub(r"\$(\w+)", lambda found: everything[found[1]], text)

    for variable in variables.values():
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]).groups()
            check_panel(port, filled(metric), {label})
    for panel in dashboard["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}" and "datasource" in variables, panel
        for target in panel["targets"]:
            check_panel(port, filled(target["expr"]), set(re.findall(r"{{(\w+)}}", target["legendFormat"])))
    print(f"- {len(dashboard['panels'])} panels")


WORDS = {"sourceLabels": "source_labels", "targetLabel": "target_label"}


def scrape(path, address):
    import yaml

    spec = yaml.safe_load(pathlib.Path(path).read_text())["spec"]
    discovery, = spec.pop("kubernetesSDConfigs")
    assert list(spec) == ["relabelings"], spec
    assert discovery["role"] == "Node" and {one["role"] for one in discovery["selectors"]} == {"Node"}, discovery
    job = {"job_name": "scrapeConfig/default/datasetfs", "relabel_configs": [
        {WORDS.get(key, key): value for key, value in step.items()} for step in spec["relabelings"]]}
    host, port = address.rsplit(":", 1)
    target = {"targets": [f"{host}:10250"], "labels": {"__meta_kubernetes_node_name": "worker7"}}
    print(json.dumps([job | {"static_configs": [target]}]).replace(":9570", f":{port}"))


{"start": start, "query": query, "panels": panels, "scrape": scrape}[sys.argv[1]](*sys.argv[2:])
