# SPDX-License-Identifier: MIT
"""Makes an image data set in class folders out of icon themes: DIRECTORY/CLASS/THEME-SIZE-NAME.{png,jpg}.

usage: icons.py DIRECTORY THEME…: the class of an icon is its folder in the theme: actions, apps, devices, …
"""
import os
import sys

from PIL import Image

CLASSES = ("actions", "apps", "categories", "devices", "emblems", "mimetypes", "places", "status")


def icons_of(theme):
    for where, _, files in os.walk(theme):
        if os.path.basename(where) not in CLASSES:
            continue
        for name in sorted(files):
            path = os.path.join(where, name)
            if name.endswith(".png") and not os.path.islink(path):
                yield path, os.path.basename(where), os.path.basename(os.path.dirname(where))


def on_white(path):
    icon = Image.open(path).convert("RGBA")
    image = Image.new("RGBA", icon.size, "white")
    image.alpha_composite(icon)
    return image.convert("RGB")


def main():
    top, themes = sys.argv[1], sys.argv[2:]
    count = 0
    for theme in themes:
        for path, kind, size in icons_of(theme):
            stem = "-".join((os.path.basename(theme), size, os.path.splitext(os.path.basename(path))[0]))
            os.makedirs(os.path.join(top, kind), exist_ok=True)
            image = on_white(path)
            # Photographs are JPEG and small drawings PNG in real data sets, so both are here.
            if min(image.size) >= 48:
                image.save(os.path.join(top, kind, stem + ".jpg"), quality=90)
            else:
                image.save(os.path.join(top, kind, stem + ".png"))
            count += 1
    if not count:
        sys.exit(f"icons.py: no icons in {' '.join(themes)}")
    print(f"{count} images in {len(os.listdir(top))} classes")


main()
