"""Our side of the comparison: the `path` bench, whose binary is named by PATH_BENCH, and the program, named by CRFE_TUI."""

import json
import os
import resource
import subprocess
import tempfile


def ours(*words):
    command = [os.environ["PATH_BENCH"], *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def whole_job(csv, *options):
    """Processor seconds of a run with one thread: reading, all metrics, all files; without folds and permutations."""
    main_part = ["--validate", "none", "--permutations", "none"]
    with tempfile.TemporaryDirectory() as out:
        command = [os.environ["CRFE_TUI"], "run", csv, *options, *main_part, "--threads", "1", "--quiet", "--out", out]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
