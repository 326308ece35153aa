#!/bin/sh
# Check a release against a policy: check_release.sh DATA POLICY OUT
# Exit code: 0 pass, 1 fail, 3 cannot tell, 2 bad input. Anything but 0 stops a pipeline.
set -u
data=$1 policy=$2 out=$3
mkdir -p "$out"
standout check "$data" --policy "$policy" --out "$out/verdict.json" --page "$out/verdict.html" \
  --junit "$out/check.xml" --sarif "$out/check.sarif" --evidence "$out/evidence.json" \
  ${STANDOUT_KEY:+--sign "$STANDOUT_KEY"} ${GITHUB_ACTIONS:+--github}
code=$?
echo "standout check: exit code $code" >&2
exit $code
