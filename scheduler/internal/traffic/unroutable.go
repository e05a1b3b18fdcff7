package traffic

import "fmt"

// An UnroutableError says that the messages of a phase cannot be given spines
// such that no two share a link, or that no way was found.
type UnroutableError struct {
	Schedule string
	Phase    int
	// Proven says that there is no way; otherwise the search gave up.
	Proven bool
	Reason string // in words
}

func (e *UnroutableError) Error() string {
	if e.Proven {
		return fmt.Sprintf("schedule %s: phase %d cannot be routed without contention: %s", e.Schedule, e.Phase, e.Reason)
	}
	return fmt.Sprintf("schedule %s: no routing without contention was found for phase %d: %s", e.Schedule, e.Phase, e.Reason)
}
