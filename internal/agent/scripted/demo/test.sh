#!/bin/sh
# Runs every test; says which fail and what they wanted.
failed=0
for t in tests/*.sh; do
	if out=$(sh "$t" 2>&1); then
		echo "ok   $t"
	else
		echo "FAIL $t: $out"
		failed=1
	fi
done
exit $failed
