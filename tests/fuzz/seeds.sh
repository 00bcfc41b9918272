#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: seeds.sh MAKE_CORPUS FOLDER
set -e
rm -rf "$2"
mkdir -p "$2"
exec "$1" "$2"
