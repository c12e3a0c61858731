# fish completion of git ralph
function __git_ralph_args
	set -l words (commandline -opc)
	if test "$words[1]" = git
		set -l at (contains -i -- ralph $words)
		or return 1
		set words $words[$at..-1]
	end
	set -e words[1]
	string join -- \n $words
	return 0
end
function __git_ralph_first
	set -l words (__git_ralph_args)
	or return 1
	test (count $words) -eq 0
end
function __git_ralph_later
	set -l words (__git_ralph_args)
	or return 1
	test (count $words) -gt 0
	or string match -q -- '-*' (commandline -ct)
end
function __git_ralph_words
	set -l found (git-ralph __complete (__git_ralph_args) (commandline -ct) 2>/dev/null)
	if test "$found[1]" = :files
		__fish_complete_path (string replace -r -- '^--[^=]*=' '' (commandline -ct))
	else
		string join -- \n $found
	end
end
complete -c git -f -n 'test (commandline -opc)[-1] = git' -a ralph -d 'Run a coding agent alone'
complete -c git -f -n __git_ralph_later -a '(__git_ralph_words)'
complete -c git-ralph -f -n __git_ralph_later -a '(__git_ralph_words)'
@COMMANDS@
