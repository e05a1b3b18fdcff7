# bash completion of evbench; it falls back to file names
_evbench() {
	local now=${COMP_WORDS[COMP_CWORD]} flag=()
	[[ $now != -* ]] || flag=("$now")
	[[ $now != -- ]] || flag=(-) # what follows -- is no flag
	mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]/#\~/$HOME}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" "${flag[@]}" \
		--generate-bash-completion 2>/dev/null)" -- "$now")
}
complete -o default -F _evbench evbench
