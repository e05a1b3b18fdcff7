// Package judge judges plan files: does every ordered pair of servers meet exactly once, or each byte of a fragment, does
// each server send and receive one message at a time, does every message take live links, does any link
// carry more than it has room for, and is what the file claims about itself true?
//
// It judges plans of trees and plans over given tables, in phases and with starts (File), and orders of a ring (Ring). It
// shares no code with the planners: it has its own reader of plans, of a network and of forwarding tables, counts everything
// again, and takes only the description of a tree from topology. Servers are named and counted by position, over tables by rank;
// times are in message times, where sizes differ in byte times. In a tree of three levels spines are the planes, and a message
// between pods also names a top switch of its plane. Where cables are parallel a message between
// leaves names two: up and down.
package judge

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"

	"evbench/topology"
)

// A Kind is the reason of an offence.
type Kind string

// The kinds of offence.
const (
	MissingMessage     Kind = "missing-message"        // an ordered pair of servers, a reader and a builder, never meets
	RepeatedMessage    Kind = "repeated-message"       // an ordered pair meets more than once
	SelfMessage        Kind = "self-message"           // source and destination are the same server
	UnknownServer      Kind = "unknown-server"         // no server sits at this position
	SendsTwice         Kind = "sends-twice"            // a server sends more than once in a phase
	ReceivesTwice      Kind = "receives-twice"         // a server receives more than once in a phase
	NoSuchSpine        Kind = "no-such-spine"          // the fabric has no spine of this number
	NoSuchTop          Kind = "no-such-top"            // the plane has no top switch of this number
	DeadLink           Kind = "dead-link"              // the message takes a link that is dead
	Contention         Kind = "contention"             // a wire between switches carries more than one message in a phase
	NeedlessSpine      Kind = "needless-spine"         // a spine inside a leaf, or where the routing leaves it open
	NeedlessTop        Kind = "needless-top"           // a top switch inside a pod
	MissingSpine       Kind = "missing-spine"          // a message between leaves without a spine
	MissingTop         Kind = "missing-top"            // a message between pods without a top switch
	NoSuchCable        Kind = "no-such-cable"          // the leaf and the spine have no cable of this number
	MissingCable       Kind = "missing-cable"          // a message between leaves without cables, where they are parallel
	NotReader          Kind = "not-a-reader"           // a server sends that does not read
	NotBuilder         Kind = "not-a-builder"          // a server receives that does not build
	UnreachableMessage Kind = "unreachable-message"    // a message between leaves that are listed as unreachable
	ReachablePair      Kind = "reachable-pair-dropped" // two leaves are listed as unreachable and are not
	Inconsistent       Kind = "tables-inconsistent"    // single-path routing, two paths from one switch to one server
	PhaseGap           Kind = "phase-gap"              // a phase without a message before the last one
	WrongPhaseCount    Kind = "wrong-phase-count"      // the stated phases are not those that hold a message
	WrongHash          Kind = "wrong-hash"             // the stated hash is not that of the canonical text
	BelowBound         Kind = "below-bound"            // fewer phases than the stated lower bound
	WeakBound          Kind = "weak-bound"             // the stated bound is less than a server, a leaf or a pod needs
	WrongBound         Kind = "wrong-bound"            // the stated witness does not prove the stated bound (Options.Bound)
	EmptyPiece         Kind = "empty-piece"            // a piece without bytes
	MissingBytes       Kind = "missing-bytes"          // bytes of a fragment that no piece carries
	RepeatedBytes      Kind = "repeated-bytes"         // bytes of a fragment that two pieces carry, or that it does not have
	WrongSizes         Kind = "wrong-sizes"            // the stated hash of the sizes is not that of the pieces
	WrongTime          Kind = "wrong-time"             // the stated time is not that of the plan
	Undelivered        Kind = "undelivered"            // a message that the tables, or its port, do not deliver, or not as many as stated
	NoSuchPort         Kind = "no-such-port"           // a source port whose path nobody has asked for
	MissingPort        Kind = "missing-port"           // a message between two switches without a source port
	OtherTables        Kind = "other-tables"           // the plan was made for other tables
	OtherRates         Kind = "other-rates"            // the plan was made for other slow links
)

// Options say how strict the judge is.
type Options struct {
	// AllowContention lets a wire carry several messages in a phase, as plans with single-path
	// routing do. Duration shows the time that contention costs.
	AllowContention bool
	// Bound recomputes the lower bound of a plan in a tree from its witness.
	Bound bool
	// Rates are the slow cables of the network; nil: those of the file. Where there are some, phases have lengths, and
	// messages may share links in them.
	Rates *topology.Rates
	// First is how many offences are kept in full. 0 means 10.
	First int
	// Live is the tree of the plan with the network's dead links and names; nil: the file's dead
	// links.
	Live *topology.Tree
	// Tables are those that a plan over tables is judged on (File.On); nil: only who sends to whom, and when, is judged.
	Tables *Tables
	// Ports are the paths that a plan by source ports is judged on.
	Ports *Ports
	// Sizes are those for which a plan of fragments of unequal size was made; nil: coverage is held against the stated hash.
	Sizes []Size
}

// An Offence is one fault of a plan. Numbers that do not apply are -1.
type Offence struct {
	Kind  Kind   `json:"kind"`
	Phase int    `json:"phase"`
	Src   int    `json:"src"` // position
	Dst   int    `json:"dst"` // position
	Spine int    `json:"spine"`
	Top   int    `json:"top"`
	Text  string `json:"text"` // one sentence with names
}

// Findings are the faults of a plan.
type Findings struct {
	Valid    bool         `json:"valid"` // no offence
	Total    int          `json:"offences_total"`
	Counts   map[Kind]int `json:"counts"`
	Offences []Offence    `json:"offences"` // the first of Total: by phase and source, then missing messages, then claims
	Notes    []string     `json:"notes"`    // what was not checked, and why

	first int // Options.First
}

func newFindings(o Options) Findings {
	return Findings{Counts: map[Kind]int{}, Offences: []Offence{}, Notes: []string{}, first: o.First}
}

// room reports whether another offence is kept in full.
func (f *Findings) room() bool { return len(f.Offences) < f.first }

func (f *Findings) accuse(k Kind, n int) {
	f.Total += n
	f.Counts[k] += n
}

// claim records a false statement of the file's header.
func (f *Findings) claim(k Kind, format string, args ...any) {
	f.offence(Offence{k, -1, -1, -1, -1, -1, ""}, format, args...)
}

// offence records one offence. It writes the sentence only if the sentence is kept.
func (f *Findings) offence(o Offence, format string, args ...any) {
	if f.room() {
		o.Text = fmt.Sprintf(format, args...)
		f.Offences = append(f.Offences, o)
	}
	f.accuse(o.Kind, 1)
}

func (f *Findings) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// A Report is the judgement of one plan.
type Report struct {
	Findings
	File *File `json:"-"`

	Servers   int `json:"servers"`
	Hosts     int `json:"hosts,omitempty"` // over tables: of which some may have several adapters
	Exchanges int `json:"exchanges,omitempty"`
	Phases    int `json:"phases"` // phases that hold a message
	Messages  int `json:"messages"`
	// Pieces are those in which fragments of unequal size are sent, and Bytes what they add up to.
	Pieces int   `json:"pieces,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
	// LeftOut is how many messages a plan must not have, because their leaves are listed as
	// unreachable and are unreachable, or because the tables do not deliver them.
	LeftOut int `json:"left_out"`

	// ContentionChecked says that every wire was checked for one message at a time, or as many as it has room for.
	ContentionChecked bool `json:"contention_checked"`
	// Duration is the sum over the phases of the largest number of messages on one wire, server
	// wires included, over its share of the link rate; where sizes differ it is when the last piece ends, in byte times. 0 where the
	// file does not know the spines (routing none, ecmp, spray), and without the tables.
	Duration float64 `json:"duration"`
	// Slow is how many cables are slower than the link rate.
	Slow int `json:"slow_cables,omitempty"`
	// PredictedEfficiency is the most messages of one server (S-1 when none is
	// left out) over Duration, or 0 without a duration.
	PredictedEfficiency float64 `json:"predicted_efficiency"`

	// Bound is the lower bound: that which the file states, and over tables that of the busiest link; nil without one.
	Bound *BoundReport `json:"bound,omitempty"`
	// Paths are counted where the file knows the spines, nil otherwise.
	Paths *topology.Paths `json:"paths,omitempty"`
}

// A BoundReport is the judge's finding on the lower bound.
type BoundReport struct {
	Value float64 `json:"value"` // phases, byte times where sizes differ, message times over tables
	Kind  string  `json:"kind"`
	// Proven says that the witness was recomputed (Options.Bound, and over tables) and proves exactly this number.
	Proven bool `json:"proven"`
	// Gap is what the plan has above the bound. It is negative only for a plan with
	// contention, to which no bound applies, and for a wrong plan.
	Gap float64 `json:"gap"`
}

// Optimal reports whether the plan has no contention, and a proof that no such plan has fewer
// phases.
func (r *Report) Optimal() bool {
	return r.Valid && (r.ContentionChecked || r.File.Over != nil) && r.Bound != nil && r.Bound.Proven && r.Bound.Gap <= 1e-9*r.Bound.Value
}

// Check judges a file. O(messages + servers² / 64), plus sorting when the messages are not in
// canonical order. It makes independent counts on up to three goroutines; the report does not
// depend on their scheduling.
func Check(f *File, o Options) *Report {
	o.First = cmp.Or(o.First, 10)
	j := newJudge(f, o)
	var beside sync.WaitGroup
	if f.Hash != "" {
		beside.Go(func() { j.digest = j.hash() })
	}
	if j.spines != open && !f.sized {
		beside.Go(func() { j.Report.Paths = j.countPaths() })
	}
	if f.sized {
		j.start()
	} else {
		j.scan()
	}
	beside.Wait()
	if !f.sized {
		j.missing()
	}
	j.claims()
	j.Report.Valid = j.Report.Total == 0
	return j.Report
}

// WriteText writes what was found, for people.
func (r *Report) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, r.counts())
	if r.LeftOut > 0 && r.File.Tree != nil {
		fmt.Fprintf(w, "%d messages between unreachable leaves are left out\n", r.LeftOut)
	} else if r.LeftOut > 0 {
		fmt.Fprintf(w, "%d messages that the tables do not deliver are left out\n", r.LeftOut)
	}
	if r.Valid {
		r.writeFigures(w)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, o := range r.Offences {
		fmt.Fprintf(w, "%s: %s\n", o.Kind, o.Text)
	}
	if more := r.Total - len(r.Offences); more > 0 {
		fmt.Fprintf(w, "… and %d more; --first %d shows all\n", more, r.Total)
	}
	return err
}

func (r *Report) counts() string {
	who := fmt.Sprintf("%d servers", r.Servers)
	if r.Hosts > 0 && r.Hosts < r.Servers {
		who = fmt.Sprintf("%d hosts, %d adapters", r.Hosts, r.Servers)
	}
	switch {
	case r.File.sized && r.Exchanges > 1:
		return fmt.Sprintf("%s, %d exchanges, %d fragments in %d pieces, %d bytes", who, r.Exchanges, r.Messages, r.Pieces, r.Bytes)
	case r.File.sized:
		return fmt.Sprintf("%s, %d fragments in %d pieces, %d bytes", who, r.Messages, r.Pieces, r.Bytes)
	}
	return fmt.Sprintf("%s, %d phases, %d messages", who, r.Phases, r.Messages)
}

func (r *Report) writeFigures(w io.Writer) {
	switch {
	case r.File.sized:
		fmt.Fprintf(w, "time T %s\n", r.Amount(r.Duration))
	case r.Duration > 0:
		fmt.Fprintf(w, "duration %.6g message times, predicted efficiency %.3f\n", r.Duration, r.PredictedEfficiency)
	}
	if b := r.Bound; b != nil && b.Proven {
		value, _, _ := strings.Cut(r.Amount(b.Value), " ")
		fmt.Fprintf(w, "bound %s proven by %s: %s\n", value, b.Kind, r.distance())
	}
	if p := r.Paths; p != nil {
		fmt.Fprintf(w, "paths: at most %d from a leaf to a server, LMC %d, %d LIDs, %d LFT entries\n", p.Most, p.LMC, p.LIDs, p.Entries)
	}
}

func (r *Report) distance() string {
	switch {
	case r.File.sized:
		return fmt.Sprintf("T*/T %.4f", r.Ratio())
	case r.Optimal():
		return "the plan is optimal"
	case !r.ContentionChecked && r.File.Tree != nil:
		return "it holds for plans without contention"
	}
	return fmt.Sprintf("gap %.6g", r.Bound.Gap)
}

// Ratio is the bound over what the plan takes: 1 where none is shorter.
func (r *Report) Ratio() float64 { return r.Bound.Value / (r.Bound.Value + r.Bound.Gap) }
