# SPDX-License-Identifier: MIT
"""datasetfs.dlio in DLIO, where it can be imported, and in a stand-in for what it uses of DLIO.

usage: mlperf_dlio.py MOUNT SOURCE stand-in: SOURCE has what is in MOUNT, a folder for each format
       mlperf_dlio.py MOUNT SOURCE dlio READER: DLIO reads MOUNT/jpeg with these words of a workload below "reader"
"""
import enum
import importlib.util
import json
import pathlib
import sys
import types

import numpy

BATCH, EPOCHS = 8, 2


# --- the stand-in --------------------------------------------------------------------------------------------


class DatasetType(enum.Enum):
    TRAIN = "train"
    VALID = "valid"


class ConfigArguments:
    """DLIO's, of which there is one in a process; a worker gets it by unpickling."""

    one = None

    def __init__(self, folder, kind, workers):
        self.format, self.read_threads, self.prefetch_size = kind, workers, 2
        self.multiprocessing_context, self.pin_memory = "fork", False
        self.batch_size = self.batch_size_eval = BATCH
        self.files = [str(path) for path in sorted(folder.iterdir())]
        self.resized_image = numpy.zeros((4, 4), dtype=numpy.uint8)
        self.val_global_index_map = {}
        ConfigArguments.one = self

    def __setstate__(self, state):
        self.__dict__.update(state)
        ConfigArguments.one = self

    @staticmethod
    def get_instance():
        return ConfigArguments.one

    def configure_dlio_logging(self, is_child):
        assert is_child

    def reconfigure(self, epoch):
        order = numpy.random.default_rng(epoch).permutation(len(self.files))
        self.train_global_index_map = {index: (self.files[index], 0) for index in order}


class BaseDataLoader:
    def __init__(self, format_type, dataset_type, epoch_number, data_loader_type):
        self._args = ConfigArguments.get_instance()
        self.dataset_type, self.epoch_number, self.batch_size = dataset_type, epoch_number, self._args.batch_size


class FormatReader:
    def __init__(self, dataset_type, thread_index):
        self._args = ConfigArguments.get_instance()
        self.global_index_map = self._args.train_global_index_map

    def preprocess(self):
        pass

    def read_index(self, index, step):
        self.get_sample(self.open(self.global_index_map[index][0]), step)
        return self._args.resized_image


def stand_in():
    owners = {"common.enumerations": DatasetType, "data_loader.base_data_loader": BaseDataLoader,
              "reader.reader_handler": FormatReader, "utils.config": ConfigArguments}
    for name, owned in owners.items():
        module = types.ModuleType(f"dlio_benchmark.{name}")
        setattr(module, owned.__name__, owned)
        sys.modules[module.__name__] = module


def epochs(folder, source, workers):
    """Each file once an epoch, in another order each time; what does not make a batch is left out."""
    import datasetfs.dlio as ours

    kind = folder.name
    arguments, read = ConfigArguments(folder / "train", kind, workers), []
    arguments.reconfigure(1)
    decode = ours.DECODERS[kind]
    ours.DECODERS[kind] = lambda view: read.append(int(decode(view).flat[0])) or decode(view)
    loader = ours.BatchDataLoader(kind, DatasetType.TRAIN, 1)
    loader.read()
    for epoch in range(1, EPOCHS + 1):
        arguments.reconfigure(epoch)
        batches = list(loader.next())
        assert [tuple(batch.shape) for batch in batches] == [(BATCH, 4, 4)] * (len(arguments.files) // BATCH), batches
        expected = [int(decode((source / kind / "train" / pathlib.Path(path).name).read_bytes()).flat[0])
                    for path, _ in arguments.train_global_index_map.values()]
        assert workers or read == expected[:len(read)], (read, expected)
        assert workers or len(read) == len(batches) * BATCH
        read.clear()
    reader = ours.FileReader(DatasetType.TRAIN, 0, 1)
    assert (reader.read_index(3, 1) == arguments.resized_image).all() and reader.is_index_based()
    ours.DECODERS[kind] = decode


def with_stand_in(mount, source):
    stand_in()
    import datasetfs.dlio as ours

    for kind in ("jpeg", "png", "npy", "npz"):
        for workers in (0, 2):
            epochs(mount / kind, source, workers)
    ConfigArguments(mount / "npz" / "train", "tfrecord", 0).reconfigure(1)
    try:
        ours.FileReader(DatasetType.TRAIN, 0, 1)
        sys.exit("a reader of tfrecord")
    except ValueError as error:
        assert str(error) == "dataset.format tfrecord, expected jpeg, png, npy, npz", error


# --- DLIO itself ---------------------------------------------------------------------------------------------


def workload(folder, reader):
    return {"framework": "pytorch", "workflow": {"generate_data": False, "train": True, "checkpoint": False},
            "dataset": {"data_folder": str(folder), "format": folder.name, "num_samples_per_file": 1,
                        "record_length_bytes": 4096, "num_files_train": len(list((folder / "train").iterdir()))},
            "reader": {"data_loader": "pytorch", "batch_size": BATCH, "read_threads": 2, "sample_shuffle": "seed",
                       "pin_memory": False} | reader,
            "train": {"epochs": EPOCHS, "computation_time": 0.0}, "output": {"folder": "output"}}


def with_dlio(mount, reader):
    from dlio_benchmark.utils.utility import DLIOMPI

    DLIOMPI.get_instance().initialize()
    from dlio_benchmark.main import DLIOBenchmark
    from omegaconf import OmegaConf

    benchmark = DLIOBenchmark(OmegaConf.create(workload(mount / "jpeg", json.loads(reader))))
    benchmark.initialize()
    benchmark.run()
    benchmark.finalize()


def main():
    mount, source = map(pathlib.Path, sys.argv[1:3])
    if sys.argv[3] == "stand-in":
        with_stand_in(mount, source)
    elif importlib.util.find_spec("dlio_benchmark"):
        with_dlio(mount, sys.argv[4])
    else:
        print("no dlio_benchmark in PYTHONPATH")


if __name__ == "__main__":
    main()
