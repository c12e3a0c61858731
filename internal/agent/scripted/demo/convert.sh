#!/bin/sh
# Converts VALUE by the rule of UNIT, which is a file in units/.
if [ $# -ne 2 ]; then
	echo "usage: convert.sh UNIT VALUE" >&2
	exit 2
fi
rule="units/$1.sh"
if [ ! -f "$rule" ]; then
	echo "convert.sh: there is no unit $1" >&2
	exit 1
fi
exec sh "$rule" "$2"
