package foreign

import (
	"bytes"
)

// Launchers put labels before each line: mpirun --tag-output ("[1,0]<stdout>:", Open MPI 5
// "[prterun-node1-99@1,0]<stdout>: "), --timestamp-output and others a time before it, srun -l "0: "
// (padded to the width of the last rank), hydra's -l "[0] ", PALS "node001 0: ", kubectl --prefix
// "[pod/NAME/CONTAINER] ", mpirun --xml <stdout rank="0">. label matches one of them, with blanks before it.
var label = pattern(`^[ \t]*(?:` + stamp + `[ \t]*)?(?:(?:\[[^\]\s]+\]){0,2}<std(?:out|err)>: ?|<std(?:out|err) [^>]*>|\[pod/[^\]\s]+\] |\[ *\d+\] |[A-Za-z][\w.-]* +\d+: |\d+: )?`)

// stamp is a time: "Mon Jan 12 10:00:00 2026", of Open MPI 5 in brackets, "2026-01-12T10:00:00.123Z", "[10:00:00]".
const stamp = `(?:\[?[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?\]?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\[\d\d:\d\d:\d\d(?:\.\d+)?\])`

// begins are what the lines of a report begin with that a label may stand before.
var begins = pattern(`^(?:# ?OSU|# Size|# Benchmarking|#bytes|# *Rank |# Collective|# nccl-tests|# rccl-tests|# nThread|# *size |START mpiGraph|\{)`)

// unlabelled returns the text without the labels of a launcher, and whether it had some: if one of
// them stands before a line that is known. Lines without a label stay as they are.
func unlabelled(data []byte) ([]byte, bool) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	found, labelOf := false, label().Find
	for _, l := range lines {
		n := len(label().Find(l))
		found = found || len(bytes.TrimSpace(l[:n])) > 0 && begins().Match(bytes.TrimLeft(l[n:], " \t")) || ranked().Match(l)
	}
	if !found {
		if labelOf = like(lines); labelOf == nil {
			return data, false
		}
	}
	for i, l := range lines {
		head := labelOf(l)
		before, rest := bytes.TrimSpace(head), l[len(head):]
		if bytes.HasPrefix(before, []byte("[")) && bytes.HasSuffix(before, []byte("]")) {
			rest = bytes.ReplaceAll(rest, before, nil)
		}
		lines[i] = xmlEnd().ReplaceAll(rest, []byte("$1"))
	}
	return bytes.Join(lines, nil), true
}

// ranked matches a row of a table behind the number of a rank: hydra's -prepend-pattern labels what a
// program writes at once, not its lines, so that the head of the table may have no label, and a row two.
var ranked = pattern(`^[ \t]*\[ *\d+\] *\d+[ \t]+(?:\[ *\d+\] *)?[\d.]+[ \t]*\r?\n?$`)

// anywhere matches what begins a report, behind whatever stands before it in its line.
var anywhere = pattern(`# ?OSU MPI|# Benchmarking|# Collective test|# nThread|START mpiGraph`)

// part is a part of a label that differs from line to line: what begins with a digit, the name of a day or month, blanks.
var part = pattern(`\d[A-Za-z\d]*|[A-Z][a-z]{2}\b|[ \t]+`)

// like finds labels of the form of the one before the first line that is known, such as those of
// pdsh, journald, or of a pattern of the user's; nil: there is none. Its bytes are taken as they are.
func like(lines [][]byte) func(line []byte) []byte {
	for _, l := range lines {
		at := anywhere().FindIndex(l)
		if at == nil {
			continue
		}
		head := l[:at[0]]
		if len(bytes.TrimSpace(head)) == 0 || len(head) > longestLabel {
			return nil
		}
		return func(line []byte) []byte { return alike(line, head) }
	}
	return nil
}

// alike returns the label that a line begins with, of the form of another one: nil where it has none.
func alike(line, form []byte) []byte {
	rest := line
	for from := 0; from < len(form); {
		varies := part().FindIndex(form[from:])
		if varies == nil {
			varies = []int{len(form) - from, len(form) - from}
		}
		fixed, of := form[from:from+varies[0]], form[from+varies[0]:from+varies[1]]
		if !bytes.HasPrefix(rest, fixed) {
			return nil
		}
		rest = rest[len(fixed):]
		after := bytes.TrimLeft(rest, " \t")
		if len(bytes.TrimSpace(of)) > 0 {
			after = bytes.TrimLeft(rest, alphanumeric)
			if len(after) == len(rest) {
				return nil
			}
		} else if len(of) == 0 {
			after = rest
		}
		from, rest = from+varies[1], after
	}
	return line[:len(line)-len(rest)]
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// longestLabel is the most bytes that stand before a line of a report.
const longestLabel = 160

// xmlEnd is the end of a line of mpirun --xml, which writes the end of the program's line, too.
var xmlEnd = pattern(`(?:&#010;)?[ \x00]*</std(?:out|err)>(\n?)$`)
