"""Data of the repository."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "data"


@pytest.fixture(scope="session")
def heart() -> Path:
    return DATA / "heart.csv"


@pytest.fixture(scope="session")
def dermatology() -> Path:
    return DATA / "dermatology.csv"
