package verify

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"evbench/topology"
)

// Limits on what Read accepts. Messages take 16 bytes each as they are read;
// what Check allocates for the stated fabric stays below 200 MB.
const (
	MaxServers = 16384   // servers of one plan
	maxNumber  = 1 << 24 // phases, positions and spines in the body
	maxHeader  = 1 << 22 // bytes of one line, or of one JSON value other than the messages
)

// NoSpine is the Spine of a message that names none.
const NoSpine = -1

// A Message is one line of the body, servers by position.
type Message struct{ Phase, Src, Dst, Spine int32 }

// A File is what a plan file says. Nothing in it has been judged yet.
type File struct {
	Tree     *topology.Tree // with the dead links
	Schedule string
	Routing  string    // pinned, none, ecmp or a single-path engine
	Phases   int       // as stated; 0 when not stated
	Bound    Bound     // as stated; Phases is 0 when not stated
	Hash     string    // as stated; "" when not stated
	Messages []Message // in the order of the file

	Predictions Predictions
}

// A Bound is a lower bound on the phases of any plan, and what proves it.
type Bound struct {
	Phases  int
	Kind    string   // "server", "leaf3" or LP
	Weights []Weight // LP, JSON form only; nil when the form carries none
}

// LP is the Kind of a bound that is proven by weights on wires.
const LP = "lp"

// A Weight is one entry of an LP dual, on a leaf-spine wire.
type Weight struct {
	Wire   topology.Wire
	Weight int64
}

// Predictions are the figures that only the JSON form states; nil where not.
type Predictions struct {
	Gap            *int
	Duration       *float64
	Efficiency     *float64
	Unsynchronised *float64
}

// A routeKind says what the spine column of a routing means.
type routeKind int

const (
	free              routeKind = iota // any live spine for each message
	onePerDestination                  // tables: one spine per leaf and destination
	open                               // no spine is named
)

var routings = map[string]routeKind{
	"pinned": free, "none": open, "ecmp": open,
	"ftree": onePerDestination, "minhop": onePerDestination, "spread": onePerDestination,
}

const routingNames = "pinned, none, ftree, minhop, spread, ecmp"

// Read reads a plan file, text or JSON (its first byte is "{"). An error names
// the line and the reason; that the plan is wrong is not an error here but an
// offence for Check.
func Read(r io.Reader) (*File, error) {
	in := &input{Reader: bufio.NewReaderSize(r, 1<<16), line: 1}
	c, err := in.peek()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("empty: a plan file starts with \"# evbench plan 1\" or \"{\"")
	case err != nil:
		return nil, fmt.Errorf("read plan: %w", err)
	case c == '{':
		return readJSON(in)
	}
	return readText(in)
}

// canonical returns the messages by phase, source, destination and spine: the
// same slice when they are so already.
func canonical(ms []Message) []Message {
	if slices.IsSortedFunc(ms, compare) {
		return ms
	}
	sorted := slices.Clone(ms)
	slices.SortFunc(sorted, compare)
	return sorted
}

func compare(a, b Message) int {
	if a.Phase != b.Phase {
		return cmp.Compare(a.Phase, b.Phase)
	}
	if a.Src != b.Src {
		return cmp.Compare(a.Src, b.Src)
	}
	if a.Dst != b.Dst {
		return cmp.Compare(a.Dst, b.Dst)
	}
	return cmp.Compare(a.Spine, b.Spine)
}

// add appends a message. It doubles the room: the usual growth by a quarter
// would copy a plan of 16 million messages twice over.
func (f *File) add(m Message) {
	if len(f.Messages) == cap(f.Messages) {
		f.Messages = slices.Grow(f.Messages, max(1024, len(f.Messages)))
	}
	f.Messages = append(f.Messages, m)
}

// pairs is how many messages a plan of s servers has.
func pairs(s int) int { return s * (s - 1) }

// most is how many a file may hold: enough that a doubled plan, or one for
// another fill, is still judged, while an endless one is not.
func most(s int) int { return 2*pairs(s) + 1<<16 }
