# fish completion of evbench; it falls back to file names
function __evbench_words
	set -l words (commandline -opc)
	set -l now (commandline -ct)
	string match -q -- '-*' $now; and set -a words (string replace -r -- '^--$' - $now)
	env 0=zsh $words --generate-bash-completion 2>/dev/null | string replace : \t
end
complete -c evbench -f -n '__evbench_words | string length -q' -a '(__evbench_words)'
