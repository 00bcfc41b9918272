#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""csi_objects.py FOLDER PAGE DRIVER: checks the Kubernetes objects of a folder against each other, against those of a
manual page, and against the name by which the plugin registers, and prints the attributes of each volume:
"inline|persistent NAME=VALUE…", a line each."""
import pathlib
import re
import sys

import yaml

VERSIONS = {"CSIDriver": "storage.k8s.io/v1", "Job": "batch/v1", "Kustomization": "kustomize.config.k8s.io/v1beta1",
            "ScrapeConfig": "monitoring.coreos.com/v1alpha1"}  # all others: v1


def page_objects(page):
    """The objects in the examples of a manual page."""
    for example in re.findall(r"^\.EX\n(.*?)^\.EE", page, re.M | re.S):
        if "apiVersion:" in example:
            yield from yaml.safe_load_all(re.sub("^    ", "", example.replace("\\-", "-"), flags=re.M))


def attributes(kind, source, driver):
    assert source["driver"] == driver and source["readOnly"] is True, source
    print(kind, *(f"{name}={value}" for name, value in source["volumeAttributes"].items()))


def check_pod(pod, by_kind, driver):
    mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}, pod
    for volume in pod["volumes"]:
        if "csi" in volume:
            attributes("inline", volume["csi"], driver)
        elif "configMap" in volume:
            assert volume["configMap"]["name"] in by_kind["ConfigMap"], volume
        else:
            claim = by_kind["PersistentVolumeClaim"][volume["persistentVolumeClaim"]["claimName"]]
            attributes("persistent", by_kind["PersistentVolume"][claim["spec"]["volumeName"]]["spec"]["csi"], driver)


def check_job(name, job, by_kind, text):
    """Ranks find each other, have the program, and may switch what datasets.conf lets them switch."""
    pod, service = job["template"]["spec"], by_kind["Service"][job["template"]["spec"]["subdomain"]]
    assert job["completionMode"] == "Indexed" and job["completions"] == job["parallelism"], job
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["selector"] == {"job-name": name}, service
    command = pod["containers"][0]["command"]
    assert f"--nnodes={job['completions']}" in command, command
    assert any(word.startswith(f"--rdzv-endpoint={name}-0.{pod['subdomain']}:") for word in command), command
    program, = (word for word in command if word.startswith("/app/"))
    compile(by_kind["ConfigMap"][name]["data"][program.removeprefix("/app/")], program, "exec")
    group, = pod["securityContext"]["supplementalGroups"]
    data_set = pod["volumes"][-1]["csi"]["volumeAttributes"]["dataset"]
    assert f"\n#   {data_set}  VOLUME  control_group={group}\n" in text, "who may switch"


def main():
    folder, page, driver = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    objects = [found for path in sorted(folder.glob("*.yaml")) for found in yaml.safe_load_all(path.read_text())]
    by_kind = {}
    for found in objects:
        assert found["apiVersion"] == VERSIONS.get(found["kind"], "v1"), found
        if "metadata" in found:
            by_kind.setdefault(found["kind"], {})[found["metadata"]["name"]] = found
    assert listed == ["csi-driver.yaml"], listed
    assert list(by_kind["CSIDriver"]) == [driver], by_kind["CSIDriver"]
    examples = list(page_objects(page.read_text()))
    assert len(examples) == 2 and all(example in objects for example in examples), "the page has other objects"
    for pod in by_kind["Pod"].values():
        check_pod(pod["spec"], by_kind, driver)
    for name, job in by_kind["Job"].items():
        check_pod(job["spec"]["template"]["spec"], by_kind, driver)
        check_job(name, job["spec"], by_kind, (folder / "training-job.yaml").read_text())


main()
