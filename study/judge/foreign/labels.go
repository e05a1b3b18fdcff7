package foreign

import (
	"bytes"
	"regexp"
)

// Launchers put labels before each line: mpirun --tag-output ("[1,0]<stdout>:", Open MPI 5
// "[prterun-node1-99@1,0]<stdout>: "), --timestamp-output and others a time before it, srun -l "0: "
// (padded to the width of the last rank), hydra's -l "[0] ", PALS "node001 0: ", kubectl --prefix
// "[pod/NAME/CONTAINER] ", mpirun --xml <stdout rank="0">. label matches one of them, with blanks before it.
var label = regexp.MustCompile(`^[ \t]*(?:` + stamp + `[ \t]*)?(?:(?:\[[^\]\s]+\]){0,2}<std(?:out|err)>: ?|<std(?:out|err) [^>]*>|\[pod/[^\]\s]+\] |\[ *\d+\] |[A-Za-z][\w.-]* +\d+: |\d+: )?`)

// stamp is a time: "Mon Jan 12 10:00:00 2026", "2026-01-12T10:00:00.123Z", "[10:00:00]".
const stamp = `(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\[\d\d:\d\d:\d\d(?:\.\d+)?\])`

// begins are what the lines of a report begin with that a label may stand before.
var begins = regexp.MustCompile(`^(?:# ?OSU|# Size|# Benchmarking|#bytes|# *Rank |# Collective|# nccl-tests|# rccl-tests|# nThread|# *size |START mpiGraph|\{)`)

// unlabelled returns the text without the labels of a launcher, and whether it had some: if one of
// them stands before a line that is known. Lines without a label stay as they are.
func unlabelled(data []byte) ([]byte, bool) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	found := false
	for _, l := range lines {
		n := len(label.Find(l))
		found = found || len(bytes.TrimSpace(l[:n])) > 0 && begins.Match(bytes.TrimLeft(l[n:], " \t"))
	}
	if !found {
		return data, false
	}
	for i, l := range lines {
		lines[i] = xmlEnd.ReplaceAll(l[len(label.Find(l)):], []byte("$1"))
	}
	return bytes.Join(lines, nil), true
}

// xmlEnd is the end of a line of mpirun --xml, which writes the end of the program's line, too.
var xmlEnd = regexp.MustCompile(`(?:&#010;)?</std(?:out|err)>(\n?)$`)

// killed matches what launchers and schedulers say when a program was ended.
var killed = regexp.MustCompile(`(?m)^.*(?:BAD TERMINATION OF ONE OF YOUR|CANCELLED AT|DUE TO TIME LIMIT|exited on signal|noticed that process rank|Exited with exit code|oom-kill|^srun: error:|^slurmstepd: error:|PMIX_ERR_|MPI_ABORT was invoked).*$`)
