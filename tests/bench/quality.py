#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How well the network of contrib/examples learns from each shuffle: loss and accuracy after the same epochs.

usage: quality.py [--seeds N] [--epochs N] [--images N] [--classes N] [--contrast X]
At least 2 seeds and 256 images. contrast: of a class's pattern, beside the one that each image has of its own.

Makes a data set of noisy patterns in class folders, and packs it twice, in the order of the tree, so sorted by class,
and in random order, with the mkdatasetfs in PATH. Needs the Python package datasetfs, torch, torchvision and numpy.
"""
import argparse
import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile
import warnings

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "contrib/examples"))
import train

BLOCKS = 256  # of the data set, so that the 32 of a buffer by default are an eighth of it

# The order on the volume, and blocks of a buffer; None: a full shuffle, DataLoader's own.
WAYS = (("tree", None), ("random", 32), ("tree", 4), ("tree", 32), ("tree", 64))
FIGURES = ("training loss", "validation loss", "accuracy")


def pattern(rng):
    """Soft blots of colour."""
    side = (train.LARGER, train.LARGER)
    layers = rng.normal(size=(3, 4, 4)).astype("float32")
    return numpy.stack([Image.fromarray(layer).resize(side, Image.BICUBIC) for layer in layers], axis=-1)


def picture(rng, ideal):
    """A class's pattern below one of the image's own, and noise."""
    mixed = ideal + pattern(rng) + rng.normal(size=ideal.shape)
    return Image.fromarray((128 + 40 * mixed).clip(0, 255).astype("uint8"))


def make(work, options):
    """work/train, of so many images, and work/validation, of a quarter as many."""
    rng, count = numpy.random.default_rng(1), options.images // options.classes
    for number in range(options.classes):
        ideal = options.contrast * pattern(rng)
        for part, images in (("train", count), ("validation", count // 4)):
            folder = work / part / f"{number:02}"
            folder.mkdir(parents=True)
            for image in range(images):
                picture(rng, ideal).save(folder / f"{image:04}.png")


def pack(work):
    for order in ("tree", "random"):
        subprocess.run(["mkdatasetfs", "--progress", "none", "--order", order, work / f"{order}.dsfs", work / "train"],
                       check=True, stdout=subprocess.DEVNULL)


def name_of(way):
    order, blocks = way
    return f"blocks, {order} order, {blocks} in a buffer" if blocks else "full shuffle"


def learn(work, way, seed, options):
    """Its figures, and what the sampler warned of."""
    order, blocks = way
    words = [f"{work}/{order}.dsfs", "--datasetfs", "--workers=0", f"--seed={seed}", f"--epochs={options.epochs}"]
    if blocks:
        block = options.images // BLOCKS
        words += ["--shuffle=blocks", f"--block={block}", f"--buffer={blocks * block}"]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model, losses = train.train(train.options_of(words))
    last = losses[-(len(losses) // options.epochs):]
    figures = statistics.mean(last), *train.validate(model, work / "validation")
    print(f"{name_of(way)}, seed {seed}:", *(f"{value:.4f}" for value in figures), flush=True)
    return figures, {str(one.message) for one in warned}


def chance(first, second):
    """How often the means of two groups that are dealt anew differ at least as much: a permutation test, exact."""
    both = first + second
    apart = [abs(sum(chosen) / len(first) - (sum(both) - sum(chosen)) / len(second))
             for chosen in itertools.combinations(both, len(first))]  # as they are comes first
    return sum(one >= apart[0] * (1 - 1e-9) for one in apart) / len(apart)


def show(way, runs, full, warned):
    print(f"\n{name_of(way)}: {'warned' if warned else 'no warning'}")
    for figure, mine, theirs in zip(FIGURES, zip(*runs), zip(*full)):
        mean = statistics.mean(mine)
        apart = "" if runs is full else f"; {mean - statistics.mean(theirs):+.4f}, p = {chance(mine, theirs):.3f}"
        print(f"  {figure} {mean:.4f} ± {statistics.stdev(mine):.4f}{apart}")
    for line in sorted(warned):
        print(f"  {line}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--images", type=int, default=4096)
    parser.add_argument("--classes", type=int, default=64)
    parser.add_argument("--contrast", type=float, default=1)
    options = parser.parse_args()
    runs, warned = {way: [] for way in WAYS}, {way: set() for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="datasetfs-quality.") as folder:
        work = pathlib.Path(folder)
        make(work, options)
        pack(work)
        for seed, way in itertools.product(range(1, options.seeds + 1), WAYS):
            figures, lines = learn(work, way, seed, options)
            runs[way].append(figures)
            warned[way] |= lines
    for way in WAYS:
        show(way, runs[way], runs[WAYS[0]], warned[way])


main()
