#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""csi_objects.py FOLDER PAGE: checks the Kubernetes objects of a folder against each other and those of a manual page,
and prints the attributes of each volume: "inline|persistent NAME=VALUE…", a line each."""
import pathlib
import re
import sys

import yaml

DRIVER = "datasetfs.csi"


def page_objects(page):
    """The objects in the examples of a manual page."""
    for example in re.findall(r"^\.EX\n(.*?)^\.EE", page, re.M | re.S):
        if "apiVersion:" in example:
            yield from yaml.safe_load_all(re.sub("^    ", "", example.replace("\\-", "-"), flags=re.M))


def attributes(kind, source):
    assert source["driver"] == DRIVER and source["readOnly"] is True, source
    print(kind, *(f"{name}={value}" for name, value in source["volumeAttributes"].items()))


def main():
    folder, page = map(pathlib.Path, sys.argv[1:])
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    objects = [found for path in sorted(folder.glob("*.yaml")) for found in yaml.safe_load_all(path.read_text())]
    by_kind = {}
    for found in objects:
        if "metadata" in found:
            by_kind.setdefault(found["kind"], {})[found["metadata"]["name"]] = found
    assert listed == ["csi-driver.yaml"], listed
    assert list(by_kind["CSIDriver"]) == [DRIVER], by_kind["CSIDriver"]
    examples = list(page_objects(page.read_text()))
    assert len(examples) == 2 and all(example in objects for example in examples), "the page has other objects"
    for pod in by_kind["Pod"].values():
        mounted = {mount["name"] for container in pod["spec"]["containers"] for mount in container["volumeMounts"]}
        for volume in pod["spec"]["volumes"]:
            assert volume["name"] in mounted, volume
            if "csi" in volume:
                attributes("inline", volume["csi"])
                continue
            claim = by_kind["PersistentVolumeClaim"][volume["persistentVolumeClaim"]["claimName"]]
            attributes("persistent", by_kind["PersistentVolume"][claim["spec"]["volumeName"]]["spec"]["csi"])


main()
