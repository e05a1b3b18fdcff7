package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const wholeRows = "--partial takes the rows that are whole"

// ends are the words of launchers, schedulers and shells for a task that did not end by itself: what they all have
// in common is that something was killed or exited with a code, by a signal, a fault, a limit or a lost node. What a
// program says on its way (warnings, PMIx's errors, what could not be opened) has none of them.
var ends = pattern(`(?i)` + strings.Join([]string{
	`\bkill(?:ed|ing)\b`, `\bterminat(?:ed|ing|ion)\b`, `\babort(?:ed|ing|s)?\b`, `MPI_ABORT`, `\bcancell?ed\b`, `\b(?:evict|preempt|revok)ed\b`,
	`\bexit(?:ed|s)?(?:[ _-](?:with|exit|code|status|value|an?))*[ :=]+(?:\(?[1-9]|non-?zero)`, `non-?zero (?:exit )?(?:code|status)`,
	`\bsignal:? +\(?(?:\d|(?-i:[A-Z]))`, `\bSIG(?:KILL|TERM|SEGV|BUS|ABRT|INT|HUP|XCPU|USR\d)\b`,
	`segmentation fault|bus error|core dumped|illegal instruction|floating point exception|fatal error|out of memory|\boom`,
	`\b(?:time|deadline|walltime|limit)\b.{0,40}\b(?:exceed|expired|reached)`, `\b(?:exceed|reach)(?:ed|s|ing)?\b.{0,40}\b(?:time|limit)`, `due to time limit`, `deadlineexceeded`,
	`\btimed? ?-?out\b`, `\bexpired\b`,
	`\bnode[ _]fail`, `\blost (?:connection|communication)`, `\bconnection\b.*\b(?:closed|reset|lost)\b`, `broken pipe`, `\bhangup\b`, `unexpectedly disconnected`,
	`^\^C`, `(?-i:\bFAILED\b)`,
}, "|"))

// wellEnded are words of tasks that ended by themselves.
var wellEnded = pattern(`(?i)\b(?:terminated|exited|completed) (?:normally|successfully)\b`)

// taskEnd reports whether a line says that a task did not end by itself.
func taskEnd(text string) bool { return ends().MatchString(wellEnded().ReplaceAllString(text, "")) }

// endIn is the first line that says so, "" without one.
func endIn(data []byte) string {
	for line := range bytes.Lines(data) {
		if text := strings.TrimSpace(string(line)); taskEnd(text) {
			return text
		}
	}
	return ""
}

// because is a line that says how a run ended, in brackets.
func because(line string) string {
	if line == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", short(line))
}

// errAlone is for processes that each took themselves for the only one.
var errAlone = errors.New("each process ran alone: it was started by the launcher of another MPI than its own (ldd shows its own), or as one process")
