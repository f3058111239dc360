"""`python -m crfe_tui …` is `crfe-tui …`."""

import os
import sys

from ._program import CrfeError, program

if __name__ == "__main__":
    try:
        path = program()
    except CrfeError as error:
        sys.exit(str(error))
    os.execv(path, [path, *sys.argv[1:]])
