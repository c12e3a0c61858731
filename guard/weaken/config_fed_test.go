package weaken

import "testing"

// A check's script is guarded however the check starts it.
func TestFedScripts(t *testing.T) {
	const before, after = "grep -q 5 out.txt\n", "true\n"
	var rows []row
	for _, line := range []string{
		"sh accept.sh",
		"xargs sh < list.txt",
		"cat list.txt | xargs -n1 sh",
		"echo accept.sh | xargs sh",
		"printf 'accept.sh\\n' | xargs -I{} sh {}",
		"printf '%s\\n' accept.sh | xargs -I F sh -e F",
		"ls *.sh | xargs -n 1 -P 2 bash",
		"git ls-files '*.sh' | xargs sh",
		"find . -name '*.sh' | xargs -n1 sh",
		"find . -name 'acc*' -print0 | xargs -0 -n1 sh",
		"find . -name '*.sh' -exec sh {} \\;",
		"find . -type f -name accept.sh -exec sh -c 'sh \"$1\"' _ {} ';'",
		"find . -name '*.sh' -exec sh -e {} +",
		"find ./ -name '*.sh' | parallel sh",
		"parallel sh ::: other.sh accept.sh",
		"parallel sh {} :::: list.txt",
		"seq 3 | xargs -n1 sh accept.sh",
		"env -S 'sh accept.sh'",
		"env -i A=1 -S \"sh accept.sh\"",
		"env --split-string='bash -e accept.sh'",
		"env A=1 sh accept.sh",
		"bash -c \"$(cat accept.sh)\"",
		"sh -ec \"$(cat ./accept.sh)\"",
		"eval \"$(cat accept.sh)\"",
		"cat accept.sh | sh",
		"cat accept.sh | bash -e -s",
		"sh < accept.sh",
		"timeout 10 xargs sh < list.txt",
		"nice sh -c 'sh $0' accept.sh",
		"sh -c 'sh \"$1\"' _ accept.sh",
		"for f in *.sh; do sh \"$f\" || exit 1; done",
		"for f in other.sh accept.sh; do sh -e ./$f; done",
		"for f in $(ls *.sh); do bash ${f}; done",
		"for n in accept other; do sh $n.sh || exit 1; done",
		"while read -r f; do sh \"$f\" || exit 1; done < list.txt",
		"cat list.txt | while read f; do sh $f; done",
		"sh all.sh",
	} {
		rows = append(rows, row{why: line, commands: []string{line}, path: "accept.sh", before: before, after: after,
			lookup: map[string]string{"list.txt": "other.sh\naccept.sh\n", "other.sh": "grep -q 1 x\n",
				"all.sh": "set -e\nfor f in *.sh; do\n\t[ $f = all.sh ] || sh $f\ndone\n"},
			paths: []string{"list.txt", "other.sh", "accept.sh", "all.sh"}, want: is(Config)})
	}
	rows = append(rows,
		row{why: "xargs of what is no script", commands: []string{"find . -name '*.sh' | xargs grep -L TODO"},
			path: "accept.sh", before: before, after: after},
		row{why: "one test of many asserts something else, which the old tests try",
			commands: []string{"for t in tests/*.sh; do sh \"$t\" || exit 1; done"},
			path:     "tests/one.sh", before: "#!/bin/sh\ntest \"$(sh add.sh 1 2)\" = 3\n",
			after: "#!/bin/sh\ntest \"$(sh add.sh 1 2)\" != 0\n"},
		row{why: "one test of many asserts nothing", commands: []string{"for t in tests/*.sh; do sh \"$t\" || exit 1; done"},
			path: "tests/one.sh", before: "#!/bin/sh\ntest \"$(sh add.sh 1 2)\" = 3\n", after: "#!/bin/sh\ntrue\n",
			want: is(Config)},
		row{why: "one test of many is gone", commands: []string{"for t in tests/*.sh; do sh \"$t\" || exit 1; done"},
			path: "tests/one.sh", before: "#!/bin/sh\ntest \"$(sh add.sh 1 2)\" = 3\n", after: "-", want: is(Config)},
		row{why: "parallel of nothing", commands: []string{"parallel sh :::", "parallel sh ::::", "xargs", "find -exec"},
			path: "accept.sh", before: before, after: after},
		row{why: "another file", commands: []string{"find tests -name '*.sh' -exec sh {} \\;"},
			path: "accept.sh", before: before, after: after},
		row{why: "code that is built", commands: []string{"cc -c src/a.c"},
			path: "src/a.c", before: "int a;\n", after: "int a = 1;\n"},
		row{why: "code that a loop builds", commands: []string{"for f in src/*.c; do cc -c \"$f\" || exit 1; done"},
			path: "src/a.c", before: "int a;\n", after: "int a = 1;\n"},
		row{why: "programs that a loop calls for what they print",
			commands: []string{"for n in 1 2; do out=$(sh app.sh $n) && [ \"$out\" = $n ] || exit 1; done"},
			path:     "app.sh", before: "echo todo\n", after: "echo \"$1\"\n"})
	check(t, rows)
}
