#compdef evbench
# zsh completion of evbench; it falls back to file names
_evbench() {
	local line
	local -a found
	for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( $#found )); then
		_describe evbench found
	else
		_files
	fi
}
if [[ $funcstack[1] == _evbench ]]; then
	_evbench "$@"
else
	compdef _evbench evbench
fi
