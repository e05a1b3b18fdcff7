# fish completion of evbench; it falls back to file names
function __evbench_words
	set -l words (commandline -opc)
	set -l now (commandline -ct)
	$words[1] complete $words[2..-1] "$now" 2>/dev/null
end
complete -c evbench -f -n '__evbench_words | string length -q' -a '(__evbench_words)'
