package inject

import (
	"fmt"
	"time"
)

type reason int

// The reasons.
const (
	failed      reason = iota // the command ended with an error
	hung                      // the command did not end, and was killed
	lied                      // the command succeeded, but the probe does not see the effect
	unclear                   // the probe cannot tell
	alreadyDown               // a link to take down is down already
)

type linkError struct {
	Link   string
	Reason reason
	Doing  string // "down", "up" or "look"
	Exit   int    // exit code of the command; -1: a signal ended it, or it did not start
	Said   string // last line of its standard error, or the obstacle
	After  time.Duration
}

func (e *linkError) Error() string {
	switch e.Reason {
	case hung:
		return fmt.Sprintf("%s: the command for %s did not end within %s and was killed%s", e.Link, e.Doing, e.After, after(e.Said))
	case lied:
		return fmt.Sprintf("%s: the command for %s succeeded, but the probe still reports %s after %s", e.Link, e.Doing, opposite(e.Doing), e.After)
	case unclear:
		when := ""
		if e.After > 0 {
			when = fmt.Sprintf(" for %s after %s", e.After, e.Doing)
		}
		return fmt.Sprintf("%s: the probe cannot tell its state%s%s", e.Link, when, after(e.Said))
	case alreadyDown:
		return fmt.Sprintf("%s is down already", e.Link)
	}
	return fmt.Sprintf("%s: the command for %s failed with %s%s", e.Link, e.Doing, exitText(e.Exit), after(e.Said))
}

func opposite(doing string) string {
	if doing == "up" {
		return "down"
	}
	return "up"
}

func after(said string) string {
	if said == "" {
		return ""
	}
	return ": " + said
}

func exitText(code int) string {
	if code < 0 {
		return "no exit code"
	}
	return fmt.Sprintf("exit code %d", code)
}

func leftDown(j *journal) error {
	were := " was"
	if len(j.Down) > 1 {
		were = " were"
	}
	return fmt.Errorf("journal %s: %s left down by a run on %s at %s; evbench failures restore %s",
		j.path, j.names()+were, j.By.Host, stamp(j.Down[0].Since), j.path)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
