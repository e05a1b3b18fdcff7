// Package modes names the modes of event building, as scenarios and results have them, and says what
// each of them means.
package modes

// A Mode is how servers exchange the fragments of events.
type Mode string

// The modes.
const (
	Sync        Mode = "synchronised"   // in phases, with a barrier between them
	Unsync      Mode = "unsynchronised" // no phases: servers ask for fragments
	FreeRunning Mode = "free-running"   // in the order of the phases, without barriers
	Ordered     Mode = "ordered"        // each fragment when those before it on its ports and links are done
)

// Names returns the names of all modes.
func Names() []string {
	return []string{string(Sync), string(Unsync), string(FreeRunning), string(Ordered)}
}

// Known reports whether it is one of the modes.
func (m Mode) Known() bool { return m.Phases() || m == Unsync || m == Ordered }

// Phases reports whether servers send in the order of the phases of a schedule.
func (m Mode) Phases() bool { return m == Sync || m == FreeRunning }

// Short is the mode in a word, as tables have it: sync, unsync, free, ordered.
func (m Mode) Short() string {
	switch m {
	case Sync:
		return "sync"
	case Unsync:
		return "unsync"
	case FreeRunning:
		return "free"
	}
	return string(m)
}
