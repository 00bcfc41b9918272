# SPDX-License-Identifier: MIT
"""For preload.sh: an epoch of the images of $MNT by DataLoaders of every kind, and a line with the sum of each."""
import hashlib
import os
import warnings

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.io import read_file, read_image

MNT = os.environ["MNT"]


def epoch(name, data, **words):
    loader = DataLoader(data, batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(1), **words)
    digest, images = hashlib.sha1(), 0
    for batch, labels in loader:
        digest.update(batch.numpy().tobytes() + labels.numpy().tobytes())
        images += len(labels)
    print(name, images, "images", digest.hexdigest(), flush=True)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    data = ImageFolder(f"{MNT}/images", transforms.ToTensor())
    print(data.classes, len(data), data.samples[7])
    epoch("no workers", data)
    for method in "fork", "spawn", "forkserver":
        epoch(method, data, num_workers=2, multiprocessing_context=method)
    epoch("kept", data, num_workers=2, persistent_workers=True, prefetch_factor=1)
    # An open file of the parent, of which the workers know nothing
    with open(data.samples[0][0], "rb") as file:
        start = file.read(10)
        epoch("beside an open file", data, num_workers=2)
        print(start, hashlib.sha1(file.read()).hexdigest())
    path = data.samples[0][0]
    print(hashlib.sha1(read_file(path).numpy().tobytes()).hexdigest(), read_image(path).shape)
    for name in os.listdir(f"{MNT}/arrays"):
        storage = torch.UntypedStorage if hasattr(torch, "UntypedStorage") else torch.ByteStorage
        size = os.path.getsize(f"{MNT}/arrays/{name}")
        mapped = storage.from_file(f"{MNT}/arrays/{name}", False, size)
        print(name, hashlib.sha1(bytes(mapped)).hexdigest())


if __name__ == "__main__":
    main()
