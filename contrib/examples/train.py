# SPDX-License-Identifier: MIT
"""Trains a small network on a folder of images: by torchvision's ImageFolder, which knows nothing of datasetfs, or past
the mount by that of datasetfs.

usage: train.py DIRECTORY [--datasetfs] [--epochs N] [--workers N] [--seed N] [--losses FILE]
"""
import argparse
import json
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def loader_of(directory, past_the_mount, workers, seed):
    image_folder = datasets.ImageFolder
    if past_the_mount:
        from datasetfs import ImageFolder as image_folder
    augment = transforms.Compose([transforms.Resize((40, 40)), transforms.RandomCrop(32),
                                  transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    images = image_folder(directory, augment)
    order = torch.Generator()
    order.manual_seed(seed)
    return images, DataLoader(images, batch_size=64, shuffle=True, num_workers=workers, generator=order,
                              persistent_workers=workers > 0)


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
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=max(2, min(4, os.cpu_count())))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--losses", help="write the loss of every step to this file")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # the sum of floats depends on their order
    torch.use_deterministic_algorithms(True)
    images, loader = loader_of(options.directory, options.datasetfs, options.workers, options.seed)
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
