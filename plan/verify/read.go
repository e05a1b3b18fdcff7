package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"evbench/topology"
)

// Limits on files. Messages take 16 bytes each as they are read. Check allocates less than 300 MB
// for the stated fabric.
const (
	maxServers  = 16384     // servers of one plan
	maxTopLinks = 1 << 20   // links between pods and top switches
	maxEntries  = 1 << 26   // forwarding table entries of all switches that pods have in planes
	maxNumber   = 1 << 24   // phases and positions in the body
	maxSpine    = 1<<15 - 1 // spines and top switches in the body
	maxCable    = 1<<7 - 1  // cables in the body
	maxHeader   = 1 << 22   // bytes of one line
)

// The Spine and Top of a message that names none.
const (
	NoSpine = -1
	NoTop   = -1
)

// A Message is one line of the body, servers by position. Top has a meaning only on three levels,
// where Spine is the plane, and where cables are parallel: it then packs both numbers of Cables.
type Message struct {
	Phase, Src, Dst int32
	Spine, Top      int16
}

// Cables returns the numbers of the parallel cables that a message takes up and down.
func (m *Message) Cables() (up, down int) { return int(m.Top) >> 7, int(m.Top) & maxCable }

func topOf(up, down int) int16 { return int16(up<<7 | down) }

// A File is the content of a plan file, before any check.
type File struct {
	Tree        *topology.Tree // with the dead links
	Unreachable [][2]int       // pairs of leaves whose messages are left out, as stated, the smaller leaf first
	Schedule    string
	Routing     string         // pinned, none, ecmp, spray, adaptive or a single-path engine
	Phases      int            // as stated; 0 when not stated
	Bound       Bound          // as stated; Phases is 0 when not stated
	Hash        string         // as stated; "" when not stated
	Messages    []Message      // in the order of the file
	Rates       topology.Rates // of slow cables, as stated
}

// A Bound is a lower bound on the phases of any plan without contention, and its proof.
type Bound struct {
	Phases  int
	Kind    string       // "server", "leaf3", "hall3", "pod1" or LP
	Subset  []int        // of a hall kind: leaves, as stated
	Weights []DualWeight // of LP; nil when not stated
}

// lp is the Kind of a bound that weights on wires prove.
const lp = "lp"

// A DualWeight is one entry of an LP dual, on a wire between switches.
type DualWeight struct {
	Wire   topology.Wire
	Weight int64
}

// Paths say how many addresses the spines of a plan need, if the destination's address chooses the
// spine (thesis 6.7.2).
type Paths struct {
	Most    int `json:"most"`        // distinct spines from one leaf to one server on another leaf
	LMC     int `json:"lmc"`         // ⌈log2 Most⌉: a server has 2^LMC addresses
	LIDs    int `json:"lids"`        // addresses in the fabric, one for each switch
	Entries int `json:"lft_entries"` // entries of the forwarding table of a switch, its own left out
}

// A routeKind is the meaning of the spine column of a routing.
type routeKind int

const (
	free              routeKind = iota // any live spine for each message
	onePerDestination                  // tables: one spine per leaf and destination
	open                               // no spine is named
)

var routings = map[string]routeKind{
	"pinned": free, "none": open, "ecmp": open, "spray": open, "adaptive": open,
	"ftree": onePerDestination, "minhop": onePerDestination, "spread": onePerDestination,
	"opensm-minhop": onePerDestination, "updn": onePerDestination, "updn-scatter": onePerDestination, "dnup": onePerDestination,
	"dmodk": onePerDestination, "dmodc": onePerDestination, "dmodc-downcost": onePerDestination,
	"sssp": onePerDestination, "dfsssp": onePerDestination, "qft": onePerDestination,
	"ftree-to-opensm-minhop": onePerDestination,
}

const routingNames = "pinned, none, ftree, minhop, spread, ecmp, spray, adaptive, opensm-minhop, updn, updn-scatter, dnup, " +
	"dmodk, dmodc, dmodc-downcost, sssp, dfsssp, qft, ftree-to-opensm-minhop"

// ErrOrdered says that a file holds a plan of version 2, which Read refuses.
var ErrOrdered = errors.New("a plan of version 2, for fragments of unequal size, where one of version 1 is needed; evbench verify takes both")

// ErrOver says that a file holds a plan of version 3, which this package does not read.
var ErrOver = errors.New(`plan version "3"; versions 1 and 2 are read here, and 3, over given tables, by verify and mpi wrap`)

// Read reads a plan file, packed with gzip or not. An error names the line and the reason. A wrong
// plan is not an error of Read; Check reports it.
func Read(r io.Reader) (*File, error) { return ReadAtMost(r, math.MaxInt) }

// ReadAtMost is Read for at most so many messages. Reading and judging take up to
// MessageBytes for each; a small file can stand for many.
func ReadAtMost(r io.Reader, messages int) (*File, error) {
	in, err := begin(r, messages)
	if err != nil {
		return nil, err
	}
	return readText(in)
}

// The most memory, in bytes, that reading and judging take for each message of version 1 and for
// each piece of version 2, which is sorted twice: measured with a million of each (31; 195), plus a
// margin.
const (
	MessageBytes = 64
	PieceBytes   = 240
)

// ReadEither reads a plan of version 1, or an ordered plan, one of version 2; the other is nil.
// Reading and judging take up to so many bytes of memory; a file that needs more is an error.
func ReadEither(r io.Reader, memory int) (*File, *Ordered, error) {
	in, err := begin(r, memory/MessageBytes)
	if err != nil {
		return nil, nil, err
	}
	if first, _ := in.Peek(len(firstOrdered) + 3); strings.TrimSpace(string(first)) == "# "+firstOrdered {
		in.room = memory / PieceBytes
		o, err := readOrdered(in)
		return nil, o, err
	}
	f, err := readText(in)
	return f, nil, err
}

// begin unpacks a file and skips leading white space.
func begin(r io.Reader, messages int) (*input, error) {
	in, err := newInput(r, messages)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	switch err := in.skipBlank(); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("empty: a plan file starts with \"# evbench plan 1\"")
	case err != nil:
		return nil, fmt.Errorf("read plan: %w", err)
	}
	return in, nil
}

// canonical returns the messages by phase, source, destination and path: the same slice if it is
// already in that order.
func canonical(ms []Message) []Message {
	if inOrder(ms) {
		return ms
	}
	sorted := slices.Clone(ms)
	slices.SortFunc(sorted, compare)
	return sorted
}

func inOrder(ms []Message) bool {
	for i := 1; i < len(ms); i++ {
		a, b := &ms[i-1], &ms[i]
		if a.Phase > b.Phase || a.Phase == b.Phase && a.Src >= b.Src && compare(*a, *b) > 0 {
			return false
		}
	}
	return true
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
	if a.Spine != b.Spine {
		return cmp.Compare(a.Spine, b.Spine)
	}
	return cmp.Compare(a.Top, b.Top)
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

// most is the limit on messages of a file: it admits a doubled plan, or one for another fill, but
// not an endless file.
func most(s int) int { return 2*pairs(s) + 1<<16 }
