# bash completion of evbench; it falls back to file names
_evbench() {
	mapfile -t COMPREPLY < <("${COMP_WORDS[0]/#\~/$HOME}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
}
complete -o default -F _evbench evbench
