#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contrib/examples: shards of WebDataset become class folders, or a folder for each sample, and come back in a shuffle;
a zip of COCO. One line names a broken sample, and nothing is published."""
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import zipfile

SOURCE = os.environ["DATASETFS_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "contrib", "python"))
os.environ.setdefault("DATASETFS_LIBRARY", os.path.join(os.environ["DATASETFS_BUILD"], "src", "lib"))
import datasetfs  # noqa: E402


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def run(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(SOURCE, "contrib", "examples", name), *arguments],
                          capture_output=True, text=True)


def done(name, *arguments):
    result = run(name, *arguments)
    check(f"{name} {arguments}", (result.returncode, result.stderr), (0, ""))


def refused(pattern, name, *arguments):
    result = run(name, "new", *arguments)
    check(f"{name} {arguments}", (result.returncode, len(result.stderr.splitlines()), os.path.exists("new")),
          (1, 1, False))
    if not re.search(pattern, result.stderr):
        sys.exit(f"fail: {name} {arguments}: {result.stderr}")


def shard(path, files):
    with tarfile.open(path, "w") as archive:
        for name, contents in files:
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents))
    return path


def contents(volume):
    data = datasetfs.DataSet(volume, transform=bytes)
    return {data.path(place): data[place] for place in range(len(data))}


def check_classes():
    """Two shards that both count from 0, and back; a second time gives the same bytes, another seed does not."""
    rng, expected = random.Random(3), {}
    for number in range(2):
        files = []
        for sample in range(30):
            image, label = rng.randbytes(rng.randrange(20000)), rng.randrange(4)
            files += [(f"d/{sample:04d}.seg.png", image), (f"d/{sample:04d}.CLS", f"{label}\n".encode())]
            expected[f"{label}/s{number}-d-{sample:04d}.seg.png"] = image
        shard(f"s{number}.tar", files)
    done("from_webdataset.py", "classes", "s0.tar", "s1.tar")
    check("classes", contents("classes"), expected)
    for out, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        done("to_webdataset.py", "classes", f"{out}%d.tar", "--seed", seed, "--samples", "25")
    written = {out: b"".join(open(f"{out}{number}.tar", "rb").read() for number in range(3)) for out in "abc"}
    check("the same seed", (written["a"] == written["b"], written["a"] == written["c"]), (True, False))
    done("from_webdataset.py", "again", "a0.tar", "a1.tar", "a2.tar")
    check("there and back", sorted((path[0], data) for path, data in contents("again").items()),
          sorted((path[0], data) for path, data in expected.items()))


def check_samples():
    shard("plain.tar", [("a.jpg", b"1"), ("a.txt", b"one"), ("README", b"no sample"), ("x/b.jpg", b"2")])
    done("from_webdataset.py", "samples", "plain.tar")
    check("samples", contents("samples"), {"plain-a/sample.jpg": b"1", "plain-a/sample.txt": b"one",
                                           "plain-x-b/sample.jpg": b"2"})
    shard("json.tar", [("a.jpg", b"1"), ("a.json", b'{"kind": "dog"}')])
    done("from_webdataset.py", "fields", "json.tar", "--field", "kind")
    check("fields", contents("fields"), {"dog/json-a.jpg": b"1", "dog/json-a.json": b'{"kind": "dog"}'})


def check_broken_shards():
    for files, pattern in (([("a.jpg", b""), ("a.cls", b"1"), ("b.jpg", b"")], "sample 'b': no '.cls'"),
                           ([("a.jpg", b""), ("a.cls", b"../up")], "sample 'a': no name of a class: '../up'"),
                           ([("a.jpg", b""), ("a.jpg", b"")], "sample 'a' has two files '.jpg'"),
                           ([("a.jpg", b""), ("b.jpg", b""), ("a.jpg", b"")], "'broken-a/sample.jpg'")):
        shard("broken.tar", files)
        refused(pattern, "from_webdataset.py", "broken.tar")
    refused("sample 'a': 'colour'", "from_webdataset.py", "json.tar", "--field", "colour")
    refused("'missing.tar': .*No such file", "from_webdataset.py", "plain.tar", "missing.tar")
    with open("s0.tar", "rb") as whole, open("cut.tar", "wb") as cut:
        cut.write(whole.read(60000))
    refused("'cut.tar': sample '[^']+': unexpected end of data", "from_webdataset.py", "cut.tar")


def check_coco():
    images = [{"id": number, "file_name": f"{number:012d}.jpg"} for number in range(3)]
    annotations = [{"id": 7, "image_id": 1, "bbox": [1, 2, 3, 4]}, {"id": 8, "image_id": 1, "bbox": [5, 6, 7, 8]}]
    with zipfile.ZipFile("images.zip", "w") as archive:
        for image in images:
            archive.writestr(f"train/{image['file_name']}", image["file_name"])

    def write(**changes):
        with open("instances.json", "w", encoding="utf-8") as file:
            json.dump({"images": images, "annotations": annotations, "categories": [{"id": 1}], **changes}, file)

    write()
    done("from_coco.py", "coco", "images.zip", "instances.json")
    found = contents("coco")
    check("names", sorted(found), sorted(["categories.json", *(f"train/{number:012d}.{kind}" for number in range(3)
                                                               for kind in ("jpg", "json"))]))
    check("an image", found["train/000000000001.jpg"], b"000000000001.jpg")
    check("its annotations", json.loads(found["train/000000000001.json"]),
          {"image": images[1], "annotations": annotations})
    write(images=[*images, {"id": 9, "file_name": "lost.jpg"}])
    refused("image 'lost.jpg' is not in the zip", "from_coco.py", "images.zip", "instances.json")
    write(images=images[1:])
    refused("image '000000000000.jpg' of the zip is not among", "from_coco.py", "images.zip", "instances.json")
    write(annotations=[{"id": 5, "image_id": 77}])
    refused("annotation 5 is of no image", "from_coco.py", "images.zip", "instances.json")


check_classes()
check_samples()
check_broken_shards()
check_coco()
