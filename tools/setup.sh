#!/bin/sh
# Set up flagc in .venv beside this checkout: `sh tools/setup.sh` to use it, `sh tools/setup.sh
# test` to test it too, `sh tools/setup.sh dev` to work on it (edits take effect without another
# set-up; after changing C++ run it again). Needs Python 3.10 or later (as $PYTHON, default python3)
# and a C++ compiler.
set -eu
cd "$(dirname "$0")/.."
extra=${1:-}
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  echo "flagc needs Python 3.10 or later; set PYTHON to one" >&2
  exit 2
}
[ -x .venv/bin/python ] || "$python" -m venv .venv
editable=
[ "$extra" != dev ] || editable=--editable
.venv/bin/python -m pip install --quiet --disable-pip-version-check \
  --constraint "${FLAGC_CONSTRAINTS:-constraints.txt}" $editable ".${extra:+[$extra]}"
# A test runs FlagGems' operators. What it pins beside them is not what flagc uses, so it comes alone.
[ -z "$extra" ] || .venv/bin/python -m pip install --quiet --disable-pip-version-check \
  --no-deps flag_gems==5.0.2
