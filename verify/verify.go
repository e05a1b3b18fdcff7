// Package verify is the judge of plan files: does every ordered pair of servers
// meet exactly once, does each server send and receive at most once in a phase,
// does every message take live links, does any wire carry two messages in one
// phase, and is what the file claims about itself true?
//
// It shares no code with what makes plans. It reads the file with a parser of
// its own, counts everything again, and takes from topology only what describes
// the fabric (names, positions, dead links). It never repairs a plan and never
// makes one. Servers are named and counted by position; times are in message
// times, how long one message takes on one link.
package verify

// A Kind is the reason of an offence.
type Kind string

// The kinds of offence.
const (
	MissingMessage  Kind = "missing-message"     // an ordered pair of servers never meets
	RepeatedMessage Kind = "repeated-message"    // an ordered pair meets more than once
	SelfMessage     Kind = "self-message"        // source and destination are the same server
	UnknownServer   Kind = "unknown-server"      // no server sits at this position
	SendsTwice      Kind = "sends-twice"         // a server sends more than once in a phase
	ReceivesTwice   Kind = "receives-twice"      // a server receives more than once in a phase
	NoSuchSpine     Kind = "no-such-spine"       // the fabric has no spine of this number
	DeadLink        Kind = "dead-link"           // the spine has no live link to the source's or destination's leaf
	Contention      Kind = "contention"          // a leaf-spine wire carries more than one message in a phase
	NeedlessSpine   Kind = "needless-spine"      // a spine inside a leaf, or where the routing leaves it open
	MissingSpine    Kind = "missing-spine"       // a message between leaves without a spine
	Inconsistent    Kind = "tables-inconsistent" // single-path routing, two spines from one leaf to one server
	PhaseGap        Kind = "phase-gap"           // a phase without a message before the last one
	WrongPhaseCount Kind = "wrong-phase-count"   // the stated phases are not those that hold a message
	WrongHash       Kind = "wrong-hash"          // the stated hash is not that of the canonical text
	WrongPrediction Kind = "wrong-prediction"    // a stated duration, efficiency or gap is not what the loads give
	BelowBound      Kind = "below-bound"         // fewer phases than the stated lower bound
	WeakBound       Kind = "weak-bound"          // the stated bound is less than a server or a leaf needs
	WrongBound      Kind = "wrong-bound"         // the stated witness does not prove the stated bound (Options.Bound)
)

// Options say how strict the judge is.
type Options struct {
	// AllowContention lets a wire carry several messages in a phase, as plans
	// with single-path routing do. It costs time, which Duration shows.
	AllowContention bool
	// Bound recomputes the lower bound from its witness.
	Bound bool
	// First is how many offences are kept in full. 0 means 10.
	First int
}

// An Offence is one thing that is wrong. Numbers that do not apply are -1.
type Offence struct {
	Kind  Kind   `json:"kind"`
	Phase int    `json:"phase"`
	Src   int    `json:"src"` // position
	Dst   int    `json:"dst"` // position
	Spine int    `json:"spine"`
	Text  string `json:"text"` // one sentence with names
}

// A Report is the judgement of one plan.
type Report struct {
	Valid    bool         `json:"valid"` // no offence
	Total    int          `json:"offences_total"`
	Counts   map[Kind]int `json:"counts"`
	Offences []Offence    `json:"offences"` // the first of Total: by phase and source, then missing messages, then claims
	Notes    []string     `json:"notes"`    // what was not checked, and why

	Servers  int `json:"servers"`
	Phases   int `json:"phases"` // phases that hold a message
	Messages int `json:"messages"`

	// ContentionChecked says that every wire was held to one message a phase.
	ContentionChecked bool `json:"contention_checked"`
	// Duration is the sum over the phases of the largest number of messages on
	// one wire, server wires included. 0 where the file does not know the
	// spines (routing none, ecmp).
	Duration int `json:"duration"`
	// PredictedEfficiency is (S-1)/Duration, or 0 without a duration.
	PredictedEfficiency float64 `json:"predicted_efficiency"`
}

// Check judges a file. O(messages + servers² / 64), and the cost of sorting
// when the messages are not in canonical order.
func Check(f *File, o Options) *Report {
	if o.First == 0 {
		o.First = 10
	}
	j := newJudge(f, o)
	j.scan()
	j.missing()
	j.claims()
	j.report.Valid = j.report.Total == 0
	return j.report
}
