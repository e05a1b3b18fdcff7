package builder

import (
	"time"

	"evbench/builder/load"
	"evbench/builder/modes"
)

// A Setting is what a scenario says of one case, as scenario, controller, workers and simulation
// have it in common.
type Setting struct {
	Name     string // unique in the scenario
	Mode     modes.Mode
	Barrier  string        // of a synchronised case
	Sources  int           // unsynchronised: outstanding requests for one event at most; 0: all
	Credits  int           // events in flight per server, without barrier; on its way to workers, of ordered cases the exchanges of a window at most
	Window   int           // ordered: exchanges that are planned together
	Assign   string        // unsynchronised: who builds which event, of Assigners
	Load     load.Load     `json:",omitzero"` // that a clock offers; zero: as many events as the network carries
	Duration time.Duration // of the counted part of one slice, which ends with a whole exchange
}

// Balanced reports whether events are assigned by their sizes, Ahead events of each server at a time.
func (s Setting) Balanced() bool { return s.Assign == AssignBalanced }

// Common is what it says of all its cases.
type Common struct {
	Seed     uint64
	Warmup   uint64        // exchanges (unsynchronised: events of each server) done before anything counts
	Interval time.Duration // between samples; never longer than a case
	Timeout  time.Duration // longest time without progress
	Deliver  string        // DeliverBuffer or DeliverDiscard
	Check    string        // CheckHeader or CheckPayload
	IO       string        // how the transport moves payload, if it has a choice; "": it chooses
}
