#compdef evbench
# zsh completion of evbench; it falls back to file names
_evbench() {
	local -a before found
	before=("${(Q)words[1]/#\~/$HOME}" "${(@Q)words[2,CURRENT-1]}")
	case $words[CURRENT] in
	--) before+=(-) ;; # what follows -- is no flag
	-*) before+=("$words[CURRENT]") ;;
	esac
	found=("${(@f)$(env 0=zsh "${before[@]}" --generate-bash-completion 2>/dev/null)}")
	if [[ -n $found[1] ]]; then
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
