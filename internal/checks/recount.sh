# Runs "$@" with a wrapper in front of each runner of tests on PATH, and prints at the
# end what was printed, what of it the runners did, and what they wrote down. The head of hidden.go says what for.
d=$(mktemp -d) && mkdir "$d/bin" "$d/said" "$d/py" "$d/php" || exit 1
export RALPH_RECOUNT="$d"
printf '%s' "$1" >"$d/recount.cjs"
printf '%s' "$2" >"$d/py/ralph_recount.py"
printf '%s' "$3" >"$d/recount.php"
echo 'import ralph_recount; ralph_recount.start()' >"$d/py/sitecustomize.py"
echo "auto_prepend_file=$d/recount.php" >"$d/php/recount.ini"
shift 3
wrap() {
	real=$(command -v "$2") || return 0
	case $real in
	*\'*) return 0 ;;
	/*) ;;
	*) return 0 ;;
	esac
	cat >"$d/bin/$2" <<END
#!/bin/sh
case " \$* " in
$1) ;;
*) exec '$real' "\$@" ;;
esac
o=\$(mktemp '$d/said/XXXXXX') || exec '$real' "\$@"
'$real' "\$@" >"\$o" 2>"\$o.err"
code=\$?
cat "\$o"
cat "\$o.err" >&2
exit \$code
END
	chmod +x "$d/bin/$2"
}
# Only what looks like a run of tests is held back until its end: a server has to be heard at once.
for p in go cargo node npx npm pnpm pnpx yarn bun bunx deno python python3 uv poetry ruby bundle rake php composer \
	dotnet mvn gradle make just mix swift dart flutter sbt; do
	wrap '*test*|*spec*|*mocha*|*jasmine*|*jest*|*ava*|*unit*|*pest*|*" t "*|*check*' "$p"
done
for p in pytest py.test jest vitest mocha ava rspec phpunit pest ctest bats gotestsum ginkgo; do
	wrap '*' "$p"
done
# go test and cargo test start what they have built by this.
cat >"$d/bin/counted" <<'END'
#!/bin/sh
case " $* " in
*" --list "*) exec "$@" ;;
*" -test."*) program=$1 && shift && set -- "$program" -test.v "$@" ;;
*/deps/*) program= ;;
*) exec "$@" ;;
esac
o=$(mktemp "$RALPH_RECOUNT/XXXXXX") || exec "$@"
"$@" >"$o" 2>&1
code=$?
cat "$o"
if [ -n "$program" ]; then
	n=$(grep -c '^ *--- PASS: ' "$o")
else
	n=$(sed -n 's/^test result: .* \([0-9]*\) passed; .*/\1/p' "$o" | tail -n 1)
fi
[ -z "$n" ] || echo "Ran $n tests in 0s" >>"$RALPH_RECOUNT/counted"
exit $code
END
chmod +x "$d/bin/counted"
if command -v go >/dev/null 2>&1; then
	flags=$(go env GOFLAGS)
	export GOFLAGS="${flags:+$flags }-exec=$d/bin/counted"
fi
if host=$(rustc -vV 2>/dev/null | sed -n 's/^host: //p') && [ -n "$host" ]; then
	export "CARGO_TARGET_$(echo "$host" | tr 'a-z.-' 'A-Z__')_RUNNER=$d/bin/counted"
fi
export NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }--require $d/recount.cjs"
export PYTHONPATH="$d/py${PYTHONPATH:+:$PYTHONPATH}"
export PYTEST_PLUGINS="ralph_recount${PYTEST_PLUGINS:+,$PYTEST_PLUGINS}"
export PHP_INI_SCAN_DIR="${PHP_INI_SCAN_DIR-}:$d/php"
export SPEC_OPTS="${SPEC_OPTS:+$SPEC_OPTS }--format json --out $d/rspec"
PATH=$d/bin:$PATH "$@" >"$d/all" 2>&1
code=$?
printf '\n-- what was printed --\n'
cat "$d/all"
printf '\n-- what the runners of tests printed --\n'
cat "$d"/said/* 2>/dev/null
printf '\n-- what they wrote down --\n'
if [ -e "$d/rspec" ]; then
	echo >>"$d/rspec"
	sed -n 's/.*"example_count":\([0-9]*\),.*"pending_count":\([0-9]*\).*/\1 \2/p' "$d/rspec" |
		while read -r all left; do echo "Ran $((all - left)) tests in 0s"; done
fi
[ ! -e "$d/counted" ] || cat "$d/counted"
rm -rf "$d"
exit $code
