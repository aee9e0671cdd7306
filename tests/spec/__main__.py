"""``make spec``: prints the report; 1 when a due requirement has no test or an id is unknown."""

import sys

from tests.spec.report import marks, missing, read_requirements, report, unknown

requirements, found = read_requirements(), marks()
print(report(requirements, found))
sys.exit(bool(missing(requirements, found) or unknown(requirements, found)))
