# SPDX-License-Identifier: MIT
"""Loads every image and array of the data set at $MNT in every way: images.py SECTION. Prints a line a call."""
import io
import mmap
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from shown import run_sections, section, show  # noqa: E402

MNT = os.environ["MNT"]
IMAGES = sorted(os.path.join(folder, name) for top in ("images", "formats")
                for folder, _, names in os.walk(f"{MNT}/{top}") for name in names)
ARRAYS = sorted(f"{MNT}/arrays/{name}" for name in os.listdir(f"{MNT}/arrays"))


@section
def pillow():
    from PIL import Image

    def load(source, **words):
        with Image.open(source) as image:
            words and image.draft(**words)
            return image.format, image.mode, image.size, image.tobytes(), sorted(map(str, image.info))

    def by_object(path, buffering):
        with open(path, "rb", buffering) as file:
            return load(file), file.tell()

    def verify(path):
        with Image.open(path) as image:
            return image.verify()

    def closed(path):
        image = Image.open(path)
        fd = image.fp.fileno()
        image.load()
        return fd, image.convert("RGB").tobytes()

    for path in IMAGES:
        name = os.path.relpath(path, MNT)
        show(name, load, path)
        show("draft", load, path, mode="L", size=(10, 10))
        show("object", by_object, path, -1)
        show("unbuffered", by_object, path, 0)
        show("bytes", lambda: load(io.BytesIO(open(path, "rb").read())))
        show("verify", verify, path)
        show("closed", closed, path)
    with ThreadPoolExecutor(4) as pool:
        show("threads", lambda: list(pool.map(load,
            [path for path in IMAGES if "none" not in path and "cut" not in path])))


@section
def opencv():
    os.environ["OPENCV_LOG_LEVEL"] = "OFF"  # its lines begin with the time
    import cv2
    cv2.setNumThreads(2)
    for path in IMAGES + [f"{MNT}/missing.png", f"{MNT}/images"]:
        for flag in cv2.IMREAD_COLOR, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_UNCHANGED, cv2.IMREAD_REDUCED_COLOR_2:
            show(f"imread {flag} {os.path.relpath(path, MNT)}", lambda: pixels(cv2.imread(path, flag)))
        show("haveImageReader", cv2.haveImageReader, path)
        show("imcount", cv2.imcount, path)
        show("imreadmulti", lambda: [pixels(image) for image in cv2.imreadmulti(path)[1]])
        show("imdecode", lambda: pixels(cv2.imdecode(numpy.fromfile(path, numpy.uint8), cv2.IMREAD_COLOR)))
    with ThreadPoolExecutor(4) as pool:
        show("threads", lambda: [pixels(image) for image in pool.map(cv2.imread, IMAGES)])


def pixels(array):
    return None if array is None else (array.dtype.str, array.shape, array.tobytes())


@section
def arrays():
    for path in ARRAYS:
        name = os.path.basename(path)
        for mode in None, "r", "c", "r+":
            def load():
                loaded = numpy.load(path, mmap_mode=mode)
                if name.endswith("npz"):
                    with loaded:
                        return [(key, pixels(loaded[key])) for key in loaded.files]
                return pixels(loaded)
            show(f"load {mode} {name}", load)
        with open(path, "rb") as file:
            show("load object", lambda: (numpy.load(file) is not None, file.tell()))
        show("fromfile", lambda: pixels(numpy.fromfile(path, numpy.uint8)))
        show("part", lambda: pixels(numpy.fromfile(path, numpy.float32, count=100, offset=64)))
        for buffering in -1, 0:
            with open(path, "rb", buffering) as file:
                file.read(16)
                show("fromfile object", lambda: (pixels(numpy.fromfile(file, numpy.int32, count=20)), file.tell()))
                show("goes on", lambda: (file.read(10), pixels(numpy.fromfile(file, numpy.uint8)), file.tell(),
                    file.read(5)))
        show("memmap", lambda: pixels(numpy.memmap(path, numpy.uint8, "r")))
        show("memmap at", lambda: pixels(numpy.memmap(path, numpy.uint8, "r", offset=5000, shape=(10, 3))))
        show("memmap write", lambda: numpy.memmap(path, numpy.uint8, "r+"))
        show("memmap copy", lambda: pixels(numpy.memmap(path, numpy.uint8, "c")))
        with open(path, "rb") as file:
            show("frombuffer", lambda: pixels(numpy.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ),
                numpy.uint8)))
            buffer = numpy.zeros(5000, numpy.uint8)
            show("readinto", lambda: (file.readinto(buffer), pixels(buffer)))
        show("tofile", lambda: (numpy.fromfile(path, numpy.uint8).tofile("copy"), os.path.getsize("copy")))
        show("loadtxt", lambda: pixels(numpy.loadtxt(path)))
        show("genfromtxt", lambda: pixels(numpy.genfromtxt(path)) if name == "table.txt" else None)
    numbers = [path for path in ARRAYS if path.endswith("npy")] * 4
    with ThreadPoolExecutor(4) as pool:
        show("threads", lambda: [pixels(array) for array in pool.map(numpy.load, numbers)])


run_sections()
