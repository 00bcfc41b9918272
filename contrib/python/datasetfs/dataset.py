# SPDX-License-Identifier: MIT
"""Data sets for torch.utils.data.DataLoader that keep no list of files: DataSet, and ImageFolder as torchvision has it.
Neither needs torch."""
import collections
import io
import operator
import os
from array import array
from bisect import bisect_left, bisect_right

from . import library as dsfs
from .ahead import Ahead
from .paths import place_of
from .places import Places
from .reader import Reader
from .selection import Selection

DT_DIR, DT_REG, DT_LNK = 4, 8, 10
LOOKS = 256  # files whose sizes tell how large all are
IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def _suffixes(extensions):
    if extensions is None:
        return None
    return tuple(os.fsencode(extension.lower())
                 for extension in ([extensions] if isinstance(extensions, str) else extensions))


def _join(*parts):
    return "/".join(part for part in parts if part)


def _version_of(below):
    """(label, path in that version) of a path below a mount's root; label None: of the version that it serves."""
    parts = below.split("/")
    if parts[:2] == [".datasetfs", "versions"] and len(parts) > 2:
        return parts[2], "/".join(parts[3:])
    return None, below


class Lazy(collections.abc.Sequence):
    """A sequence whose elements are made when they are asked for."""

    def __init__(self, length, element):
        self._length, self._element = length, element

    def __len__(self):
        return self._length

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self._element(number) for number in range(*place.indices(self._length))]
        return self._element(range(self._length)[place])


class DataSet:
    """The regular files below a directory of one version, each once, in the order in which they lie on the volume.

    where: a mountpoint, a directory below one, or a volume; root: a directory in it, relative to where.
    extensions: only files whose names end so, whatever the case. An element is the file's contents as bytes, or what
    transform makes of a memoryview of them; transform=memoryview keeps it, see collate_bytes().

    It stays with its version until refresh(), may be forked, and is pickled with a few numbers for each directory.
    Symbolic links are not followed.
    """

    def __init__(self, where, root="", transform=None, extensions=None, version=None, digest=None, way=None,
                 trust=None, revoked=None):
        where = os.path.expanduser(os.fspath(where))
        place = place_of(where) if os.path.isdir(where) else None
        self._where, below = place or (where, "")
        label, below = _version_of(below)
        version = version or label
        self._inside = _join(below, os.fspath(root).strip("/"))
        self._wish, self._means = (version, digest), (way, trust, revoked)
        self._reader, self._is_pinned = Reader(self._where, version, digest, *self._means), False
        self.transform, self.extensions = transform, extensions
        self._load()

    # --- what is in it

    def _load(self):
        """The files of the version that the reader has; what is kept is relative to its root."""
        info, begin = self._reader.info, self._reader.first_id
        self.version, self.digest = info.label, info.digest
        self._files, self._classes, self._ahead, self._places = Selection(), None, None, None
        further, directories = set(), collections.deque([self._directory()])
        suffixes = _suffixes(self.extensions)
        while directories:
            first, _, bits, others = self._reader.scan(directories.popleft(), suffixes)
            self._files.add_bits(first - begin, bits)
            directories.extend(number for _, number, kind in others if kind == DT_DIR)
            further.update(number - begin for name, number, kind in others if kind == DT_REG and (
                suffixes is None or os.fsencode(name).lower().endswith(suffixes)))
        self._add_further(sorted(further))

    def _add_further(self, ordinals):
        """Files that have one of their names here, but their first name, which has their place, elsewhere."""
        missing = [ordinal for ordinal in ordinals if not self._files.holds(ordinal)]
        for ordinal in missing:
            self._files.add_run(ordinal, 1)

    def _directory(self):
        return self._reader.lookup([self._inside])[0] if self._inside else self._reader.info.root

    @property
    def reader(self):
        if self._reader is None:  # it was pickled: the same version again, whatever is served now
            self._reader, self._is_pinned = Reader(self._where, self.version, self.digest, *self._means), True
        return self._reader

    def refresh(self):
        """To the version that the mount serves now. True: it is another one, with other files at other places."""
        before = self.reader.info
        self._forget_ahead()
        if self._is_pinned:
            self._reader, self._is_pinned = Reader(self._where, *self._wish, *self._means), False
        else:
            self._reader.refresh()
        now = self._reader.info
        if (now.uuid, now.root) == (before.uuid, before.root):
            return False
        self._load()
        return True

    def __getstate__(self):
        return {**self.__dict__, "_reader": None, "_ahead": None, "_places": None}

    def __repr__(self):
        where = _join(self._where, self._inside)
        return f"{type(self).__name__}({where!r}, version={self.version!r}): {len(self)} files"

    # --- about one file

    def __len__(self):
        return len(self._files)

    def id(self, place):
        """What the calls of reader know a file by."""
        return self.reader.first_id + self._files[range(len(self._files))[place]]

    def path(self, place):
        """Relative to root."""
        path = self.reader.path(self.id(place))
        return path[len(self._inside) + 1:] if self._inside and path.startswith(self._inside + "/") else path

    def in_place(self, samples):
        """The indices of files that are counted in the order of their places on the volume."""
        return self._ordered().indices(self.reader, samples)

    @property
    def places(self):
        """A name of that order."""
        return self._ordered().name(self.reader)

    def _ordered(self):
        if self._places is None:
            self._places = Places(self.reader, self._files)
        return self._places

    def size(self, place):
        return self.reader.stat(self.id(place)).st_size

    @property
    def mean_size(self):
        """Bytes of a file, of some hundred of them: the same ones in every process."""
        looks = min(len(self), LOOKS)
        return sum(self.size(look * len(self) // looks) for look in range(looks)) / looks if looks else 0

    @property
    def classes(self):
        """The directories in root, sorted."""
        if self._classes is None:
            _, _, _, others = self.reader.scan(self._directory(), ())
            self._classes = sorted(name for name, _, kind in others if kind == DT_DIR)
        return self._classes

    def label(self, place):
        """The number of the class that a file is in; None: it lies in root itself."""
        name, slash, _ = self.path(place).partition("/")
        return bisect_left(self.classes, name) if slash else None

    # --- reading

    def _element(self, place, view):
        return bytes(view) if self.transform is None else self.transform(view)

    def __getitem__(self, place):
        """One element; of a list of places a list, so that a DataLoader with batch_size=None and a sampler of batches
        reads a batch in one call."""
        try:
            place = operator.index(place)
        except TypeError:
            return self.__getitems__(place)
        return self.__getitems__([place])[0]

    def __getitems__(self, places):
        """Of a batch of a sampler with shuffle="blocks", the files that come next are read ahead, block by block."""
        every, recipe = range(len(self._files)), getattr(places, "recipe", None)
        numbers = [every[place] for place in places]
        if recipe and recipe.digest == self.digest:
            views = self._go_on(recipe, places.number).read(self, numbers, places.number)
        else:
            self._forget_ahead()
            views = self.read_each(numbers)
        for view in views:
            if isinstance(view, OSError):
                raise view
        return [self._element(place, view) for place, view in zip(numbers, views)]

    def read_each(self, places):
        """The contents of files as memoryviews; an OSError takes the place of one that cannot be read."""
        reader, files = self.reader, self._files
        first = reader.first_id
        views = reader.read_many([first + files[place] for place in places], errors="return")
        for number, view in enumerate(views):
            if isinstance(view, OSError):
                views[number] = dsfs.named(view.errno, view.strerror, reader.path(view.filename))
        return views

    def _go_on(self, recipe, number):
        if self._ahead is None or not self._ahead.goes_on(recipe, number):
            self._forget_ahead()
            self._ahead = Ahead(recipe, self.mean_size)
        return self._ahead

    def _forget_ahead(self):
        ahead, self._ahead = self._ahead, None
        if ahead:
            ahead.forget()


def pil_loader(view):
    from PIL import Image

    return Image.open(io.BytesIO(view)).convert("RGB")


# A directory of an ImageFolder: where it is (relative to root), its id, what scan() says of it, and whether paths of
# its files must be put together from its names, as they are links, further names, or behind a link.
Folder = collections.namedtuple("Folder", "path number first bits is_named")


class ImageFolder(DataSet):
    """torchvision.datasets.ImageFolder without a list of files: the same classes, samples and targets, in that order.

    root is a directory on a mount, or a volume. loader gets a memoryview of the file's contents, not its path. samples,
    imgs and targets are sequences that make their elements when asked. Symbolic links that lead nowhere or out of the
    data set are left out.
    """

    def __init__(self, root, transform=None, target_transform=None, loader=pil_loader, is_valid_file=None,
                 allow_empty=False, version=None, digest=None, way=None, trust=None, revoked=None):
        self.root = os.path.expanduser(os.fspath(root))
        self.target_transform, self.loader = target_transform, loader
        self.is_valid_file, self.allow_empty = is_valid_file, allow_empty
        super().__init__(root, "", transform, None if is_valid_file else IMAGES, version, digest, way, trust, revoked)

    def _load(self):
        info = self._reader.info
        self.version, self.digest = info.label, info.digest
        self._files, self._begins, self._ahead, self._places = Selection(), array("Q"), None, None
        self._named_begins, self._named_ends, self._named = array("Q"), array("Q"), []
        folders = self._class_folders()
        self._classes, empty = sorted(folders), []
        self.class_to_idx = {name: number for number, name in enumerate(self._classes)}
        for name in self._classes:
            self._begins.append(len(self._files))
            for folder in self._walk(name, *folders[name]):
                self._add(folder)
            if self._begins[-1] == len(self._files):
                empty.append(name)
        if empty and not self.allow_empty:
            known = f"Supported extensions are: {', '.join(IMAGES)}" if self.extensions else ""
            raise FileNotFoundError(f"Found no valid file for the classes {', '.join(empty)}. {known}")

    def _class_folders(self):
        _, _, _, others = self._reader.scan(self._directory(), ())
        found = {name: (number, is_link) for name, number, kind, is_link in self._resolved("", others)
                 if kind == DT_DIR}
        if not found:
            raise FileNotFoundError(f"Couldn't find any class folder in {self.root}.")
        return found

    def _resolved(self, path, entries):
        """(name, id, type, whether it is a link) of entries: the id and type are those of a link's target."""
        for name, number, kind in entries:
            is_link = kind == DT_LNK
            if is_link:
                try:
                    number, = self._reader.lookup([_join(self._inside, path, name)])
                except OSError:
                    continue
                kind = self._reader.stat(number).st_mode >> 12
            yield name, number, kind, is_link

    def _walk(self, name, number, is_link):
        """The folders of a class, in the order of sorted(os.walk())."""
        found, todo = [], [(name, number, is_link)]
        while todo:
            path, number, is_named = todo.pop()
            first, _, bits, others = self._reader.scan(number, _suffixes(self.extensions))
            others = list(self._resolved(path, others))
            todo.extend((_join(path, entry), target, is_named or is_link)
                        for entry, target, kind, is_link in others if kind == DT_DIR)
            is_named = is_named or any(kind == DT_REG for _, _, kind, _ in others)
            found.append(Folder(path, number, first, bits, is_named))
        return sorted(found)

    def _add(self, folder):
        begin, first = len(self._files), self._reader.first_id
        if folder.is_named or self.is_valid_file:
            for _, number in self._names(folder):
                self._files.add_run(number - first, 1)
        else:
            self._files.add_bits(folder.first - first, folder.bits)
        if folder.is_named:
            self._named_begins.append(begin)
            self._named_ends.append(len(self._files))
            self._named.append(folder._replace(bits=None))

    def _is_wanted(self, path):
        if self.is_valid_file:
            return self.is_valid_file(os.path.join(self.root, path))
        return path.lower().endswith(self.extensions)

    def _names(self, folder):
        """(name, id) of the samples in a folder, sorted."""
        entries = self._resolved(folder.path, self.reader.list(folder.number))
        return sorted((name, number) for name, number, kind, _ in entries
                      if kind == DT_REG and self._is_wanted(_join(folder.path, name)))

    # --- as torchvision has it

    @property
    def samples(self):
        return Lazy(len(self), lambda place: (os.path.join(self.root, self.path(place)), self.label(place)))

    imgs = samples

    @property
    def targets(self):
        return Lazy(len(self), self.label)

    def label(self, place):
        return bisect_right(self._begins, range(len(self))[place]) - 1

    def path(self, place):
        place = range(len(self))[place]
        number = bisect_right(self._named_begins, place) - 1
        if number < 0 or place >= self._named_ends[number]:
            return super().path(place)
        folder = self._named[number]
        return _join(folder.path, self._names(folder)[place - self._named_begins[number]][0])

    def _element(self, place, view):
        sample, target = self.loader(view), self.label(place)
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target if self.target_transform is None else self.target_transform(target)
