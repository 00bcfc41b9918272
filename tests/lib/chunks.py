# SPDX-License-Identifier: MIT
"""Where a file's bytes lie, from datasetfsctl stat --json on stdin: lines "chunk length member offset stored"."""
import json
import sys

for chunk in json.load(sys.stdin)["chunks"]:
    if chunk["in"] == "volume":
        print(chunk["chunk"], chunk["length"], chunk["member"], chunk["device_offset"], chunk["stored"])
