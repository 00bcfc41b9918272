# SPDX-License-Identifier: MIT
"""Trains a small network on a folder of images: by torchvision's ImageFolder, which knows nothing of datasetfs, or past
the mount by that of datasetfs.

usage: train.py DIRECTORY [--datasetfs] [--shuffle full|samples|blocks] [--block N] [--buffer N] [--epochs N]
                [--workers N] [--seed N] [--losses FILE]

full is DataLoader's own order. samples and blocks are those of datasetfs.Sampler, which need --datasetfs.
"""
import argparse
import json
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


BATCH = 64


def order_of(images, options):
    """What DataLoader is given beside the data set."""
    if options.shuffle == "full":
        order = torch.Generator()
        order.manual_seed(options.seed)
        return {"batch_size": BATCH, "shuffle": True, "generator": order}
    from datasetfs import Sampler
    blocks = {"shuffle": "blocks", "block": options.block, "buffer": options.buffer}
    return {"batch_sampler": Sampler(images, seed=options.seed, batch_size=BATCH,
                                     **(blocks if options.shuffle == "blocks" else {}))}


def loader_of(options):
    image_folder = datasets.ImageFolder
    if options.datasetfs:
        from datasetfs import ImageFolder as image_folder
    augment = transforms.Compose([transforms.Resize((40, 40)), transforms.RandomCrop(32),
                                  transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    images = image_folder(options.directory, augment)
    return images, DataLoader(images, num_workers=options.workers, persistent_workers=options.workers > 0,
                              **order_of(images, options))


def network(classes):
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 8 * 8, 64), nn.ReLU(), nn.Linear(64, classes))


def epoch(model, loader, optimiser, losses):
    for images, labels in loader:
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--datasetfs", action="store_true", help="use datasetfs.ImageFolder")
    parser.add_argument("--shuffle", choices=("full", "samples", "blocks"), default="full")
    parser.add_argument("--block", type=int, help="images that stay together, with blocks")
    parser.add_argument("--buffer", type=int, help="images that are mixed, with blocks")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=max(2, min(4, os.cpu_count())))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--losses", help="write the loss of every step to this file")
    options = parser.parse_args()
    if options.shuffle != "full" and not options.datasetfs:
        parser.error(f"--shuffle {options.shuffle} needs --datasetfs")

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # the sum of floats depends on their order
    torch.use_deterministic_algorithms(True)
    images, loader = loader_of(options)
    model = network(len(images.classes))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.002)
    losses = []
    for number in range(1, options.epochs + 1):
        begun, before = time.monotonic(), len(losses)
        epoch(model, loader, optimiser, losses)
        mean = sum(losses[before:]) / (len(losses) - before)
        print(f"epoch {number}: {len(images)} images, mean loss {mean:.6f}, {time.monotonic() - begun:.1f} s",
              flush=True)
    if options.losses:
        with open(options.losses, "w") as out:
            json.dump([loss.hex() for loss in losses], out)


if __name__ == "__main__":
    main()
