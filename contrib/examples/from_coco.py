# SPDX-License-Identifier: MIT
"""Publishes COCO: the images of a zip, each with its annotations beside it as .json, and all categories as
categories.json."""
import argparse
import collections
import json
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import datasetfs  # noqa: E402


def as_bytes(value):
    return json.dumps(value, sort_keys=True).encode()


def add_all(publisher, images, annotations):
    of_image = collections.defaultdict(list)
    for annotation in annotations["annotations"]:
        of_image[annotation["image_id"]].append(annotation)
    paths = {os.path.basename(path): path for path in images.namelist() if not path.endswith("/")}
    publisher.add("categories.json", as_bytes(annotations["categories"]))
    for image in annotations["images"]:
        path = paths.pop(image["file_name"], None)
        if path is None:
            raise ValueError(f"image '{image['file_name']}' is not in the zip")
        publisher.add(path, images.read(path))
        publisher.add(os.path.splitext(path)[0] + ".json", as_bytes({"image": image,
                                                                     "annotations": of_image.pop(image["id"], [])}))
    if paths:
        raise ValueError(f"image '{next(iter(paths))}' of the zip is not among the annotated ones")
    if of_image:
        raise ValueError(f"annotation {next(iter(of_image.values()))[0].get('id')} is of no image")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("volume")
    parser.add_argument("images", help="as train2017.zip")
    parser.add_argument("annotations", help="as instances_train2017.json")
    parser.add_argument("--label", help="of the version")
    arguments = parser.parse_args()
    try:
        with (zipfile.ZipFile(arguments.images) as images, open(arguments.annotations, encoding="utf-8") as file,
              datasetfs.Publisher(arguments.volume, label=arguments.label, order="random") as publisher):
            add_all(publisher, images, json.load(file))
    except (datasetfs.CommandError, KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        sys.exit(f"from_coco: {error}")
    print(f"version '{publisher.version.label}': {publisher.version.files} files, {publisher.version.digest}")


if __name__ == "__main__":
    main()
