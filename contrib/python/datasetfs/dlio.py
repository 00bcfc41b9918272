# SPDX-License-Identifier: MIT
"""This package in the terms of DLIO, the benchmark below MLPerf Storage: classes that a workload names.

reader:
  data_loader: pytorch
  data_loader_classname: datasetfs.dlio.BatchDataLoader   # a batch in one call; or, with DLIO's own loader,
  data_loader_sampler: index
  reader_classname: datasetfs.dlio.FileReader             # a file in one call

Both do with a sample what DLIO's readers of these formats do: the file is decoded, and the loop gets DLIO's own array.
"""
import io
import math
import pickle

import numpy
from torch.utils.data import DataLoader, Dataset, Sampler, default_collate

from dlio_benchmark.common.enumerations import DatasetType
from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader
from dlio_benchmark.reader.reader_handler import FormatReader
from dlio_benchmark.utils.config import ConfigArguments

from . import paths


def image(view):
    from PIL import Image

    return numpy.asarray(Image.open(io.BytesIO(view)))


def array(view):
    return numpy.load(io.BytesIO(view), allow_pickle=True)


DECODERS = {"jpeg": image, "png": image, "npy": array, "npz": lambda view: array(view)["x"]}


class FileReader(FormatReader):
    """The files of one worker, read past the mount."""

    def __init__(self, dataset_type, thread_index, epoch):
        super().__init__(dataset_type, thread_index)
        kind = getattr(self._args.format, "value", self._args.format)
        if kind not in DECODERS:
            raise ValueError(f"dataset.format {kind}, expected {', '.join(DECODERS)}")
        self.decode = DECODERS[kind]

    def open(self, filename):
        return self.decode(paths.read(filename))

    def close(self, filename):
        pass

    def get_sample(self, filename, sample_index):
        pass

    def next(self):
        yield from super().next()

    def read_index(self, image_idx, step):
        return super().read_index(image_idx, step)

    def read_batch(self, indices):
        """A sample for each index, with one call for all of their files."""
        found = []
        for view in paths.read_many([self.global_index_map[index][0] for index in indices]):
            self.decode(view)
            self.preprocess()
            found.append(self._args.resized_image)
        return found

    def finalize(self):
        pass

    def is_index_based(self):
        return True

    def is_iterator_based(self):
        return True


class Batches(Dataset):
    """An element is a whole batch, which is asked for by the list of its indices."""

    def __init__(self, dataset_type, epoch):
        self.dataset_type, self.epoch = dataset_type, epoch
        self.arguments, self.reader = pickle.dumps(ConfigArguments.get_instance()), None

    def begin(self, worker):
        """In a worker, which has DLIO's arguments only if it was forked."""
        pickle.loads(self.arguments)
        ConfigArguments.get_instance().configure_dlio_logging(is_child=True)
        self.reader = FileReader(self.dataset_type, worker, self.epoch)

    def __getitem__(self, indices):
        if self.reader is None:
            self.reader = FileReader(self.dataset_type, -1, self.epoch)
        return default_collate(self.reader.read_batch(indices))


class Order(Sampler):
    """Batches of this rank's samples in the order of DLIO's map, which it makes anew for each epoch and shuffles where
    the workload has sample_shuffle. A last batch that is not full is left out, as DLIO does it."""

    def __init__(self, dataset_type, batch_size):
        super().__init__(None)
        self.name = "train_global_index_map" if dataset_type is DatasetType.TRAIN else "val_global_index_map"
        self.batch_size = batch_size

    def _indices(self):
        return getattr(ConfigArguments.get_instance(), self.name)

    def __len__(self):
        return len(self._indices()) // self.batch_size

    def __iter__(self):
        indices = list(self._indices())
        for begin in range(0, len(self) * self.batch_size, self.batch_size):
            yield indices[begin:begin + self.batch_size]


class BatchDataLoader(BaseDataLoader):
    """PyTorch's DataLoader, whose workers read a batch with one call."""

    def __init__(self, format_type, dataset_type, epoch):
        super().__init__(format_type, dataset_type, epoch, None)
        self.loader = None

    def read(self):
        workers, ahead = self._args.read_threads, self._args.prefetch_size
        data, options = Batches(self.dataset_type, self.epoch_number), {}
        if workers:
            options = {"multiprocessing_context": self._args.multiprocessing_context, "persistent_workers": True,
                       "worker_init_fn": data.begin, "prefetch_factor": math.ceil(ahead / workers) or 2}
        self.loader = DataLoader(data, batch_size=None, sampler=Order(self.dataset_type, self.batch_size),
                                 num_workers=workers, pin_memory=self._args.pin_memory, **options)

    def next(self):
        yield from self.loader
        self.epoch_number += 1

    def finalize(self):
        pass
