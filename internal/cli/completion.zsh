#compdef git-ralph
#description Run a coding agent alone on a repository you care about

_git-ralph() {
	local line word
	local -a found spaced joined commands
	if ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then
		commands=(
			@COMMANDS@
		)
		_describe -t commands command commands
		return
	fi
	found=("${(@f)$(git-ralph __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ $found[1] == :files ]]; then
		[[ $PREFIX == -*=* ]] && compset -P '*='
		_files
		return
	fi
	for line in $found; do
		word=${line%%$'\t'*}
		line=${line#*$'\t'}
		if [[ $word == *= ]]; then
			joined+=("${word//:/\\:}:$line")
		else
			spaced+=("${word//:/\\:}:$line")
		fi
	done
	_describe -t words word spaced -- joined -S ''
}

_git-ralph "$@"
