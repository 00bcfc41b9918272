#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contrib/examples: shards of WebDataset become class folders, or a folder for each sample, and come back in a shuffle;
a zip of COCO, LMDB and HDF5. One line names a broken sample, and nothing is published."""
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


def check_lmdb():
    expected = {f"d/{number:04d}": os.urandom(number * 500) for number in range(20)}
    with lmdb.open("lmdb") as database, database.begin(write=True) as transaction:
        for key, value in expected.items():
            transaction.put(key.encode(), value)
    done("from_lmdb.py", "keys", "lmdb", "--suffix", ".jpg")
    check("keys", contents("keys"), {key + ".jpg": value for key, value in expected.items()})
    with open("classes.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{key} c{int(key[-1]) % 3}\n" for key in expected)
    done("from_lmdb.py", "keyed", "lmdb/data.mdb", "--classes", "classes.txt")
    check("classes", contents("keyed"), {f"c{int(key[-1]) % 3}/{key}": value for key, value in expected.items()})
    with open("classes.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{key} c\n" for key in expected if key != "d/0007")
    refused("'lmdb': key 'd/0007' has no class", "from_lmdb.py", "lmdb", "--classes", "classes.txt")
    with lmdb.open("lmdb") as database, database.begin(write=True) as transaction:
        transaction.put(b"../up", b"")
    refused("'[.][.]/up' cannot be the name", "from_lmdb.py", "lmdb")
    refused("'plain.tar'", "from_lmdb.py", "plain.tar")


def check_hdf5():
    files, arrays = [os.urandom(number * 500 + 1) for number in range(9)], numpy.arange(90.0).reshape(9, 5, 2)
    with h5py.File("data.h5", "w") as file:
        rows = file.create_dataset("train/files", (9,), h5py.vlen_dtype(numpy.uint8))
        for number, row in enumerate(files):
            rows[number] = numpy.frombuffer(row, numpy.uint8)
        file["arrays"], file["numbers"], file["names"] = arrays, numpy.arange(9) % 2, [b"cat", b"dog", b"cow"] * 3
        file["few"] = numpy.arange(8)
        file.create_dataset("empty", (1,), h5py.vlen_dtype(numpy.uint8))
    done("from_hdf5.py", "rows", "data.h5", "train/files", "names", "--suffix", ".jpg")
    check("rows", contents("rows"), {f"{('cat', 'dog', 'cow')[number % 3]}/{number:09d}.jpg": row
                                     for number, row in enumerate(files)})
    done("from_hdf5.py", "arrays", "data.h5", "arrays", "numbers")
    found = {path: numpy.load(io.BytesIO(data)).tolist() for path, data in contents("arrays").items()}
    check("arrays", found, {f"{number % 2}/{number:09d}.npy": row.tolist() for number, row in enumerate(arrays)})
    refused("'data.h5': 8 labels of 9 rows", "from_hdf5.py", "data.h5", "arrays", "few")
    refused("'data.h5': row 0 is empty", "from_hdf5.py", "data.h5", "empty")
    refused("'data.h5': .*colour", "from_hdf5.py", "data.h5", "colour")
    refused("'plain.tar'", "from_hdf5.py", "plain.tar", "rows")


check_classes()
check_samples()
check_broken_shards()
check_coco()
try:
    import h5py
    import lmdb
    import numpy
except ImportError as error:
    print(f"skip: {sys.executable} has no {error.name} (Debian: python3-{error.name}, for /usr/bin/python3)")
    sys.exit(77)
check_lmdb()
check_hdf5()
