# SPDX-License-Identifier: MIT
"""Trains a small network on a folder of images: by torchvision's ImageFolder, which knows nothing of datasetfs, or past
the mount by that of datasetfs.

usage: train.py DIRECTORY [--datasetfs] [--shuffle full|samples|blocks] [--block N] [--buffer N] [--epochs N]
                [--workers N] [--seed N] [--losses FILE] [--validation DIRECTORY]

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
LARGER, SIZE = 40, 32  # pixels of a side before and after a crop


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
    augment = transforms.Compose([transforms.Resize((LARGER, LARGER)), transforms.RandomCrop(SIZE),
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


def train(options):
    """The network, and the loss of every step."""
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
    return model, losses


def validate(model, directory):
    """Mean loss, and the part that is recognized, of the images of a directory in the same classes."""
    crop = transforms.Compose([transforms.Resize((LARGER, LARGER)), transforms.CenterCrop(SIZE), transforms.ToTensor()])
    images = datasets.ImageFolder(directory, crop)
    loss = right = 0
    with torch.no_grad():
        for batch, labels in DataLoader(images, BATCH):
            found = model(batch)
            loss += nn.functional.cross_entropy(found, labels, reduction="sum").item()
            right += (found.argmax(1) == labels).sum().item()
    return loss / len(images), right / len(images)


def options_of(words=None):
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
    parser.add_argument("--validation", help="say how well the images of this directory are recognized in the end")
    options = parser.parse_args(words)
    if options.shuffle != "full" and not options.datasetfs:
        parser.error(f"--shuffle {options.shuffle} needs --datasetfs")
    return options


def main():
    options = options_of()
    model, losses = train(options)
    if options.validation:
        loss, right = validate(model, options.validation)
        print(f"validation: mean loss {loss:.6f}, {right:.1%} recognized")
    if options.losses:
        with open(options.losses, "w") as out:
            json.dump([loss.hex() for loss in losses], out)


if __name__ == "__main__":
    main()
