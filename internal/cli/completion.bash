# bash completion of git ralph; "git ralph" needs git's own completion
__git_ralph_words() { # WORDS... with $cur the word that is being typed
	local word
	for word in "$@"; do
		if [[ $word == "$cur"* ]]; then
			[[ $word == *= ]] || word="$word "
			COMPREPLY+=("$word")
		fi
	done
}
__git_ralph() { # the index of the first word behind "ralph"
	local cur=${COMP_WORDS[COMP_CWORD]} IFS=$' \t\n' line words=()
	COMPREPLY=()
	compopt -o nospace 2>/dev/null
	if ((COMP_CWORD == $1)) && [[ $cur != -* ]]; then
		__git_ralph_words @COMMANDS@
		return
	fi
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			[[ $cur == = ]] && cur=
			compopt +o nospace -o filenames 2>/dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
			return
		fi
		words+=("${line%%$'\t'*}")
	done < <("${COMP_WORDS[@]:0:$1}" __complete "${COMP_WORDS[@]:$1:COMP_CWORD-$1+1}" 2>/dev/null)
	[[ $cur == = ]] && cur=
	__git_ralph_words "${words[@]}"
}
_git_ralph() { # the index of the first word behind "ralph"
	local cur=${COMP_WORDS[COMP_CWORD]} IFS=$' \t\n' line words=()
	COMPREPLY=()
	compopt -o nospace 2>/dev/null
	if ((COMP_CWORD == $1)) && [[ $cur != -* ]]; then
		__git_ralph_words @COMMANDS@
		return
	fi
	mapfile -t words < <("${COMP_WORDS[@]:0:$1}" __complete "${COMP_WORDS[@]:$1:COMP_CWORD-$1+1}" 2>/dev/null)
	if [[ ${words[0]} == :files ]]; then
		[[ $cur == = ]] && cur=
		compopt +o nospace -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	[[ $cur == = ]] && cur=
	for line in "${words[@]}"; do
		__git_ralph_words "${line%%$'\t'*}"
	done
}
_git_ralph() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == ralph ]] && break
	done
	__git_ralph $((i + 1))
}
__git_ralph_alone() { __git_ralph 1; }
complete -o nospace -F __git_ralph_alone git-ralph
