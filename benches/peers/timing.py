"""Our side of the comparison: the `path` bench, whose binary is named by PATH_BENCH."""

import json
import os
import subprocess


def ours(*words):
    command = [os.environ["PATH_BENCH"], *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
