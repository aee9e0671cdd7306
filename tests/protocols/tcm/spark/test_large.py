"""The largest ring that must run on a machine of this kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.house.source import ROOT

GIGABYTE = 10**9


@pytest.mark.deep
@pytest.mark.spec("H-016")
def test_ten_thousand_nodes_fit_in_twelve_gigabytes() -> None:
    """2.56 million ranges at each of five steps are judged, and no quorum is missed."""
    # Java as users have it: what makes short tests quicker makes this one slower.
    others = ("SPARK_REMOTE", "KIT_SPARK_MASTER", "SPARK_SUBMIT_OPTS")
    held = {name: value for name, value in os.environ.items() if name not in others}
    command = [sys.executable, "-m", "tests.spark.large"]
    told = subprocess.run(
        command, cwd=ROOT, env=held, stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(told.stdout)
    assert found["ranges"] == 2_560_001
    assert found["steps"] == 5
    assert found["judged"] >= 13 * found["ranges"]
    assert found["missed"] == 0
    assert found["moving"][0] == found["moving"][4] == 0 < found["moving"][2]
    assert found["reads"] == pytest.approx(6, abs=1e-9)
    assert found["peak"] <= 12 * GIGABYTE
