# SPDX-License-Identifier: MIT
"""One epoch of PyTorch's ImageFolder, shuffled, with the usual DataLoader; nothing is trained.

usage: imagefolder.py ROOT WORKERS; the protocol is that of reader.c. The clock covers listing and reading.
"""
import json
import resource
import sys
import time

import torch
from torchvision import datasets, transforms


def main():
    root, workers = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(1)
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    data = datasets.ImageFolder(root, transforms.Compose([transforms.Resize((64, 64)), transforms.ToTensor()]))
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, num_workers=workers)
    count = sum(len(labels) for _, labels in loader)
    took = time.monotonic() - begun
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"count": count, "bytes": 0, "seconds": took,
                      "reader_cpu": sum(part.ru_utime + part.ru_stime for part in usage)}), flush=True)


main()
