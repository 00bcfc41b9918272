#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: in=asan
"""The Python package over a volume, with its extension and by ctypes alone: structures as in the header, reads by path
and by id, errors, views that outlive everything, data sets without a list, processes that fork and that are spawned."""
import ctypes
import gc
import hashlib
import inspect
import json
import operator
import os
import pickle
import re
import subprocess
import sys
from array import array

SOURCE, BUILD = os.environ["DATASETFS_SOURCE"], os.environ["DATASETFS_BUILD"]
PACKAGE = os.path.join(BUILD, "root", "usr", "share", "datasetfs", "python")
sys.path.insert(0, PACKAGE)
import datasetfs  # noqa: E402
from datasetfs import library  # noqa: E402


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def refused(what, kind, pattern, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        if not re.search(pattern, str(error)):
            sys.exit(f"fail: {what}: {error}")
        return error
    sys.exit(f"fail: {what}: no {kind.__name__}")


# --- structures

STRUCTURES = {"Options": "struct dsfs_options", "Info": "struct dsfs_info", "Read": "struct dsfs_read",
              "Entry": "struct dsfs_dirent", "Stat": "struct stat", "ShuffleOptions": "struct dsfs_shuffle_options",
              "ShuffleDeal": "struct dsfs_shuffle_deal", "ShuffleWindows": "struct dsfs_shuffle_windows"}


def check_layout():
    lines, expected = [], []
    for name, structure in STRUCTURES.items():
        ours = getattr(library, name)
        lines.append(f'printf("%zu\\n", sizeof({structure}));')
        expected.append(ctypes.sizeof(ours))
        for field, *_ in ours._fields_:
            if not field.startswith("_"):
                lines.append(f'printf("%zu\\n", offsetof({structure}, {field}));')
                expected.append(getattr(ours, field).offset)
    with open("layout.c", "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\n#include <stddef.h>\n#include "datasetfs/datasetfs.h"\n'
                   f"int main(void) {{ {' '.join(lines)} }}\n")
    subprocess.run(["cc", "-I", os.path.join(SOURCE, "include"), "-o", "layout", "layout.c"], check=True)
    found = subprocess.run(["./layout"], check=True, capture_output=True).stdout.split()
    check("sizes and places", expected, [int(word) for word in found])


# --- a tree with everything that a data set meets

LINK, LINKED = "cat/link.jpg", "dog/007.jpg"  # names of one file


def content_of(path):
    path = LINKED if path == LINK else path
    return hashlib.sha512(path.encode()).digest() * (len(path) * 7 % 40)


def write(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content_of(path[5:]))  # without "tree/"


def make_tree():
    for kind in ("cat", "dog", "eel"):
        for number in range(150):
            write(f"tree/{kind}/{number:03}.jpg")
    for number in range(150):
        write(f"tree/dog/{number:03}.txt")      # a directory that mixes kinds
    for name in ("a.PNG", "deep/b.jpg", "deep/er/c.jpeg", "deep-er/d.jpg", "deep/er.jpg"):
        write(f"tree/eel/{name}")
    write("tree/top.jpg")
    write("tree/other/x.jpg")
    os.link(f"tree/{LINKED}", f"tree/{LINK}")
    os.symlink("../eel/003.jpg", "tree/cat/soft.jpg")
    os.symlink("eel", "tree/fish")
    os.symlink("nowhere", "tree/cat/broken.jpg")
    subprocess.run(["mkdatasetfs", "--progress", "none", "volume", "tree", "--label", "v1"], check=True,
                   stdout=subprocess.DEVNULL)


def regular(root, suffix=""):
    """Paths of regular files, one name each."""
    seen, found = set(), []
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if name.lower().endswith(suffix) and not os.path.islink(path) and status.st_ino not in seen:
                seen.add(status.st_ino)
                found.append(os.path.relpath(path, root))
    return sorted(found)


# --- one reader

STATUS = ("st_mode", "st_size", "st_uid", "st_gid", "st_mtime", "st_mtime_ns")


def check_stat(reader):
    for path in ("cat", "cat/001.jpg", "cat/soft.jpg"):
        found, expected = reader.stat(path), os.stat(f"tree/{path}")
        names = [name for name in STATUS if path != "cat" or name != "st_size"]
        check(f"status of {path}", [getattr(found, name) for name in names],
              [getattr(expected, name) for name in names])
        check("the same by id", reader.stat(reader.lookup([path])[0]), found)
        check("status in words", repr(found).startswith(f"os.stat_result(st_mode={expected.st_mode}, st_ino="), True)
    check("as the version is named elsewhere", reader.info.uuid,
          json.loads(subprocess.run(["datasetfsctl", "list", "--json", "volume"], check=True,
                                    capture_output=True).stdout)["versions"][0]["uuid"])


def check_page():
    """The calls of the README have the arguments that it says, and its examples name what the package has."""
    with open(os.path.join(SOURCE, "contrib", "python", "README.md"), encoding="utf-8") as file:
        page = file.read()
    rows = re.findall(r"^\| `([A-Za-z_.]+)(\(.*\))` \|", page, re.MULTILINE)
    check("calls in the tables", len(rows), 14)
    for name, arguments in rows:
        signature = inspect.signature(operator.attrgetter(name)(datasetfs))
        signature = inspect.Signature([parameter.replace(annotation=parameter.empty)
                                       for parameter in signature.parameters.values()])
        check(name, arguments.replace('"', "'"), re.sub(r"\(self(, )?", "(", str(signature)))
    examples = "".join(re.findall(r"^```$(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    for name in datasetfs.__all__:
        check(f"{name} without its package", re.findall(rf"(?<![\w.]){name}\(", examples), [])


def check_words():
    """What is no list of paths, or none of ids, is refused in words."""
    reader = datasetfs.Reader("volume")
    number, = reader.lookup(["cat/001.jpg"])
    one = "expected a list of {}, found the one path 'cat/001.jpg'"
    refused("one path", TypeError, one.format("paths"), reader.lookup, "cat/001.jpg")
    refused("one path", TypeError, one.format("paths or ids"), reader.read_many, "cat/001.jpg")
    refused("one path", TypeError, one.format("paths"), datasetfs.read_many, "cat/001.jpg")
    for mixed in (["cat/001.jpg", number], [number, "cat/001.jpg"]):
        refused("both", TypeError, "expected paths or ids, not both, found int and str", reader.read_many, mixed)
    for call in (reader.stat, reader.list):
        refused("neither", TypeError, "expected a path or an id, found None", call, None)
        refused("a name of nothing", FileNotFoundError, "none", call, "cat/none")
    refused("a way", ValueError, "^way='fast', expected None, 'direct' or 'mount'$", datasetfs.Reader, "volume", None,
            None, "fast")


def check_ranges(reader, paths, ids, expected):
    """By path and by id, into arenas and into a buffer."""
    ranges = [(number % 70, number % 90) for number in range(len(ids))]
    wanted = [content[offset:offset + size] for content, (offset, size) in zip(expected, ranges)]
    check("ranges by path", [bytes(view) for view in reader.read_many(paths, ranges=ranges)], wanted)
    check("ranges by id", [bytes(view) for view in reader.read_many(ids, ranges=ranges)], wanted)
    found = reader.read_many(["none", paths[1]], "return", [(0, 1), (2, library.WHOLE)])
    check("behind what is not there", (type(found[0]).__name__, bytes(found[1])),
          ("FileNotFoundError", expected[1][2:]))
    check("none", reader.read_many([], ranges=[]), [])
    refused("too few", ValueError, "1 ranges for 2 files", reader.read_many, paths[:2], "raise", [(0, 1)])
    for pair in ((-1, 1), (0, -1), (0, 1 << 64)):
        refused("a range", ValueError, r"the range .*\)", reader.read_many, paths[:1], "raise", [pair])
    buffer = bytearray(50)
    check("into a buffer", (reader.read_into(ids[1], memoryview(buffer), 7), bytes(buffer)),
          (50, expected[1][7:57]))
    check("into none", reader.read_into(ids[1], bytearray(), 7), 0)
    link = next(number for name, number, _ in reader.list("cat") if name == "soft.jpg")
    check("the target of a link", reader.readlink(link), "../eel/003.jpg")


def check_reader():
    with datasetfs.Reader("volume") as reader:
        check("files", reader.info.files, len(regular("tree")))
        paths = regular("tree")
        expected = [content_of(path) for path in paths]
        ids = reader.lookup(paths)
        check("by path", [bytes(view) for view in reader.read_many(paths)], expected)
        check("by id", [bytes(view) for view in reader.read_many(ids)], expected)
        check("nothing", reader.read_many([]), [])
        check("an array of ids", list(map(bytes, reader.read_many(array("Q", ids)))), expected)
        check("one", reader.read("cat/001.jpg"), content_of("cat/001.jpg"))
        check_ranges(reader, paths, ids, expected)
        check("one by id", reader.read(ids[5]), expected[5])
        check("paths", [reader.path(number) for number in ids], paths)
        check("two names, one file", len(set(reader.lookup([LINK, LINKED]))), 1)
        check("sizes", [reader.stat(number).st_size for number in ids], [len(content) for content in expected])
        cat, = reader.lookup(["cat"])
        check("a directory", [name for name, _, _ in reader.list(cat)], sorted(os.listdir("tree/cat")))
        check("a directory by its path", reader.list("cat/"), reader.list(cat))
        check("the root", (reader.list("/"), reader.stat("").st_ino), (reader.list(reader.info.root), 1))
        check_stat(reader)
        views = reader.read_many(paths)
        check("read only", (views[0].readonly, views[0].format, views[0].nbytes), (True, "B", len(expected[0])))
    refused("a handle that was closed", ValueError, "closed", reader.read_many, [ids[0]])
    check("views outlive the reader", [bytes(view) for view in views], expected)


def check_errors():
    reader = datasetfs.Reader("volume")
    paths = ["cat/001.jpg", "cat/none.jpg", "cat", "cat/002.jpg"]
    error = refused("the first error", FileNotFoundError, "none.jpg", reader.read_many, paths)
    check("of which, and why", (error.filename, "'none.jpg'" in error.strerror), ("cat/none.jpg", True))
    check("the path once", str(error), "[Errno 2] there is no 'none.jpg': 'cat/none.jpg'")
    check("the release", datasetfs.__version__, library.library().dsfs_release().decode())
    error = refused("a directory", IsADirectoryError, "a directory", reader.read, "cat")
    check("a directory by its path", str(error), "[Errno 21] a directory: 'cat'")
    for path in ("/cat/none.jpg", b"cat/none.jpg"):
        error = refused("one path", FileNotFoundError, "none", reader.lookup, [path])
        check("the path once", str(error), f"[Errno 2] there is no 'none.jpg': {path!r}")
    gc.collect()
    del error
    for kind in (datasetfs.Reader, datasetfs.DataSet, datasetfs.ImageFolder):
        refused(f"{kind.__name__} of a plain directory", OSError,
                r"] not on a datasetfs mount: '[^']*/tree'$", kind, "tree")
    if library.calls().__name__ == "datasetfs._fast":  # ctypes makes types, which the collector frees
        check("nothing that only the collector would free", gc.collect(), 0)
    found = reader.read_many(paths, errors="return")
    check("errors in their places", [type(item).__name__ for item in found],
          ["memoryview", "FileNotFoundError", "IsADirectoryError", "memoryview"])
    check("the others", (bytes(found[0]), bytes(found[3])), (content_of(paths[0]), content_of(paths[3])))
    for number in (1 << 62, -1):
        refused("an id of nothing", OSError, "", reader.read_many, [number])
    refused("another word", ValueError, "'raise' or 'return'", reader.read_many, paths, "ignore")
    refused("no volume", OSError, "] there is no such file or device: [^']*: 'absent'$", datasetfs.Reader, "absent")
    refused("other contents", OSError, "sha256", datasetfs.Reader, "volume", None, "sha256:" + "0" * 64)


def check_damage():
    """A file that cannot be read is named once, also where it was asked for by its number."""
    path = "dog/010.jpg"
    with open("volume", "rb") as volume:
        found = volume.read()
    with open("damaged", "wb") as volume:
        volume.write(found.replace(content_of(path), content_of(path)[::-1]))
    data = datasetfs.DataSet("damaged")
    places = {data.path(place): place for place in range(len(data))}
    error = refused("a damaged file", OSError, f"] chunk .* of the volume: .*: '{path}'$", data.__getitem__,
                    places[path])
    check("which file", (error.filename, str(error).count(path)), (path, 1))
    os.unlink("damaged")


def check_views():
    """Each batch has memory of its own as long as one of its views is there, and no longer."""
    reader = datasetfs.Reader("volume")
    paths = [path for path in regular("tree") if len(content_of(path)) > 100][::12]
    kept = []
    for number in range(len(paths)):
        views = reader.read_many(paths)
        kept.append(views[number])  # the other views of the batch go
        del views
    reader.close()
    del reader
    gc.collect()
    if (child := os.fork()) == 0:
        del kept  # what a child gives up is its own
        os._exit(0)
    os.waitpid(child, 0)
    check("one view of each batch", [bytes(view) for view in kept], [content_of(path) for path in paths])


# --- data sets

def check_dataset():
    data = datasetfs.DataSet("volume")
    paths = [data.path(place) for place in range(len(data))]
    check("every file once", sorted(paths), regular("tree"))
    check("in the order of ids", [data.id(place) for place in range(len(data))],
          sorted(data.id(place) for place in range(len(data))))
    check("elements", list(data), [content_of(path) for path in paths])
    check("sizes", [data.size(place) for place in range(len(data))], [len(item) for item in data])
    check("classes", data.classes, ["cat", "dog", "eel", "other"])
    check("labels", [data.label(place) for place in range(len(data))],
          [data.classes.index(path.split("/")[0]) if "/" in path else None for path in paths])
    check("from the end", (data[-1], data[[0, -2]]), (data[len(data) - 1], [data[0], data[len(data) - 2]]))
    refused("beyond the end", IndexError, "", data.__getitem__, len(data))
    check("few numbers", len(pickle.dumps(data)) < 2500, True)
    lengths = datasetfs.DataSet("volume", transform=lambda view: (type(view).__name__, len(view)))
    check("a transform gets a view", lengths[3], ("memoryview", data.size(3)))


def check_parts():
    for root, extensions in (("dog", None), ("dog", ".jpg"), ("eel", (".jpg", ".JPEG", ".png")), ("cat", ".jpg"),
                             ("eel/deep", None), ("", ".txt"), ("", ".none")):
        data = datasetfs.DataSet("volume", root, extensions=extensions)
        expected = regular(f"tree/{root}", tuple([extensions.lower()] if isinstance(extensions, str) else
                                                 [one.lower() for one in extensions or ("",)]))
        contents = [content_of(f"{root}/{path}".lstrip("/")) for path in expected]
        check(f"{root} {extensions}", sorted(data), sorted(contents))
    refused("no directory", OSError, "", datasetfs.DataSet, "volume", "top.jpg")
    refused("nothing there", FileNotFoundError, "", datasetfs.DataSet, "volume", "none")


def walked(valid):
    """What torchvision's ImageFolder has; links that lead nowhere left out."""
    classes = sorted(entry.name for entry in os.scandir("tree") if entry.is_dir())
    return classes, [(os.path.join(folder, name).replace("tree/", "volume/", 1), label)
                     for label, kind in enumerate(classes)
                     for folder, _, names in sorted(os.walk(f"tree/{kind}", followlinks=True))
                     for name in sorted(names)
                     if valid(os.path.join(folder, name)) and os.path.exists(os.path.join(folder, name))]


def check_images():
    for valid in (None, lambda path: path.endswith("7.jpg")):
        test = valid or (lambda path: path.lower().endswith((".jpg", ".jpeg", ".png")))
        classes, samples = walked(test)
        images = datasetfs.ImageFolder("volume", loader=bytes, is_valid_file=valid, allow_empty=True)
        check("classes", (images.classes, images.class_to_idx), (classes, {name: i for i, name in enumerate(classes)}))
        check("samples", list(images.samples), samples)
        check("imgs and targets", (images.imgs[3:9], list(images.targets)),
              (samples[3:9], [label for _, label in samples]))
        contents = []
        for path, label in samples:
            with open(path.replace("volume/", "tree/", 1), "rb") as file:
                contents.append((file.read(), label))
        check("elements", images.__getitems__(range(len(images))), contents)
    refused("an empty class", FileNotFoundError, r"^Found no valid file for the classes other\. $",
            lambda: datasetfs.ImageFolder("volume", is_valid_file=lambda path: "other" not in path))
    small = datasetfs.ImageFolder("volume", loader=len, transform=str, target_transform=lambda label: -label)
    check("transforms", small[0], (str(len(content_of("cat/000.jpg"))), 0))


# --- other processes

def check_fork(data):
    """Children go on with what they inherit, all at once, and so does their parent."""
    expected, children = [bytes(item) for item in data], []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            os._exit(0 if list(data) == expected and data.__getitems__(range(len(data))) == expected else 1)
        children.append(child)
    check("the parent meanwhile", list(data), expected)
    check("children", [os.waitpid(child, 0)[1] for child in children], [0] * 4)
    check("the parent afterwards", list(data), expected)


def check_spawn(data):
    with open("pickled", "wb") as file:
        pickle.dump(data, file)
    code = ("import sys, pickle, hashlib; sys.path.insert(0, sys.argv[1]); data = pickle.load(open('pickled', 'rb'));"
            "print(data.digest, hashlib.sha256(b''.join(data)).hexdigest())")
    found = subprocess.run([sys.executable, "-c", code, PACKAGE], check=True, capture_output=True, text=True).stdout
    check("in another process", found.split(), [data.digest, hashlib.sha256(b"".join(data)).hexdigest()])


def check_next_version():
    """What is open stays as it is, also for a process that opens it again; refresh() takes it to the next."""
    data, reader = datasetfs.DataSet("volume"), datasetfs.Reader("volume")
    before, old = list(data), reader.lookup(["cat/001.jpg"])
    with open("tree/cat/001.jpg", "wb") as file:
        file.write(b"new content")
    write("tree/aardvark/0.jpg")
    subprocess.run(["mkdatasetfs", "--progress", "none", "volume", "tree", "--label", "v2"], check=True,
                   stdout=subprocess.DEVNULL)
    check("as it was", list(data), before)
    check_spawn(data)
    pickled = pickle.loads(pickle.dumps(data))
    check("pickled, as it was", (list(pickled), pickled.version), (before, "v1"))
    check("pickled, refresh", (pickled.refresh(), pickled.version, pickled.refresh()), (True, "v2", False))
    check("refresh", (data.refresh(), data.version, len(data)), (True, "v2", len(before) + 1))
    check("again", data.refresh(), False)
    check("the new content", [data[place] for place in range(len(data)) if data.path(place) == "cat/001.jpg"],
          [b"new content"])
    check("the reader", (reader.refresh(), reader.read("cat/001.jpg")), (True, b"new content"))
    refused("ids of the former version", OSError, "", reader.read_many, old)
    check("classes", data.classes, ["aardvark", "cat", "dog", "eel", "other"])


def check_without_library():
    """What needs no library works without one, and the rest says what is missing."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import datasetfs\n"
            "assert len(list(datasetfs.Sampler(10, shuffle=False))) == 10 and datasetfs.read('pickled')\n"
            "try: datasetfs.Reader('volume')\n"
            "except ImportError as error: print(error)")
    found = subprocess.run([sys.executable, "-c", code, PACKAGE], check=True, capture_output=True, text=True,
                           env={**os.environ, "DATASETFS_LIBRARY": "/nowhere"}).stdout
    check("the reason", re.sub(r"\(.*\)", "()", found), "libdatasetfs.so.0 cannot be loaded (): install the package"
          " libdatasetfs0 that contrib/packaging/build-deb of datasetfs makes, run 'meson install' there, or set"
          " DATASETFS_LIBRARY to the library or its folder\n")


def sanitizer():
    """What a Python needs that loads libraries with a sanitizer; it never frees all of its own memory."""
    needed = subprocess.run(["ldd", library._places()[0]], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"=> (\S*/lib[a-z]*san\.so\S*)", needed)
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return {"LD_PRELOAD": " ".join(found), "ASAN_OPTIONS": options, "PYTHONMALLOC": "malloc"} if found else {}


def run_both():
    check_layout()
    for extension in ("yes", "no"):
        subprocess.run(["rm", "-rf", "tree", "volume"], check=True)
        make_tree()
        if subprocess.run([sys.executable, __file__, extension],
                          env={**os.environ, **sanitizer(), "DATASETFS_EXTENSION": extension}).returncode:
            sys.exit(f"fail: with DATASETFS_EXTENSION={extension}")


def main():
    if len(sys.argv) == 1:
        run_both()
        return
    has_extension = os.path.exists(os.path.join(PACKAGE, "datasetfs", "_fast.abi3.so")) and sys.argv[1] == "yes"
    check("the calls", library.calls().__name__, "datasetfs._fast" if has_extension else "datasetfs.plain")
    check_reader()
    check_page()
    check_words()
    check_errors()
    check_damage()
    check_views()
    check_dataset()
    check_parts()
    check_images()
    check_fork(datasetfs.DataSet("volume"))
    check_spawn(datasetfs.DataSet("volume"))
    check_next_version()
    check_without_library()


main()
