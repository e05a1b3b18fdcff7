package judge

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"evbench/topology"
)

// Limits on files. Messages take 16 bytes each as they are read. Check allocates less than 300 MB
// for the stated fabric.
const (
	maxServers  = 16384     // servers of one plan of a tree
	maxHosts    = 1 << 16   // hosts of a plan over tables: what a small file makes the reader take
	maxTopLinks = 1 << 20   // links between pods and top switches
	maxEntries  = 1 << 26   // forwarding table entries of all switches that pods have in planes
	maxNumber   = 1 << 24   // phases and positions in the body
	maxSpine    = 1<<15 - 1 // spines and top switches in the body
	maxPort     = 1<<16 - 1 // source ports in the body
	maxCable    = 1<<7 - 1  // cables in the body
	maxHeader   = 1 << 22   // bytes of one line
	maxTime     = 1 << 53   // byte times, and all bytes and offsets together: whole as a float64
	maxWindow   = 16        // exchanges of a window
)

// Covered are the keys of the header lines that the hash of a plan covers, in the order in which they are hashed, beside
// the rows. The ranks' reader in C is given this list. A plan of a tree has topology, one over tables has hosts.
var Covered = []string{
	"topology", "fill", "spines", "down", "hosts", "guids", "adapters", "path-bits", "readers", "builders", "undelivered", "tables", "paths", "slow",
	"window", "sizes",
}

// Others are the keys of the header lines that the hash does not cover.
var others = []string{"unreachable", "schedule", "routing", "network", "engine", "made", "phases", "time", "bound", "hash"}

// A form is a version of files. Form 4 is written, and the others are read for ever.
type form struct {
	first string
	keys  []string // of header lines; nil: any
	// rows of messages that have a phase, or of those that have a start and bytes. Of the latter columns after bytes may be left out.
	phased, started []string
}

var forms = map[int]form{
	1: {"evbench plan 1", strings.Fields("topology fill spines down readers builders unreachable schedule routing phases bound hash"), inPhases, nil},
	2: {"evbench plan 2", strings.Fields("topology fill spines down readers builders schedule routing window sizes time bound hash"), nil,
		[]string{"src", "dst", "path", "start", "bytes", "offset", "exchange"}},
	3: {"evbench plan 3", nil, inPhases, []string{"start", "src", "dst", "bytes"}},
	4: {"evbench plan 4", slices.Concat(Covered, others), inPhases, []string{"start", "src", "dst", "path", "bytes", "offset", "exchange"}},
}

// First is the first line of the files that are written.
const First = "# evbench plan 4"

var inPhases = []string{"phase", "src", "dst", "path"}

// The Spine and Top of a message that names none.
const (
	NoSpine = -1
	NoTop   = -1
)

// A Message is a row of a plan, servers by position, or by rank in a plan over tables. Its path is what the header makes
// of it:
//
//   - in a tree (topology) "2", a spine; on three levels "2.5", a plane and its top switch; with parallel cables "2.0.1", a
//     spine, the cable up and the cable down. "-" within a leaf, or where the routing leaves it open.
//   - over tables (tables) "-": they have one path for each pair, by the path bits of the source.
//   - over paths that were probed (paths) "49160", the source port that leads over the path, or "-" where no port is
//     needed: see Port.
//
// Top has a meaning only on three levels, where Spine is the plane, and where cables are parallel: it then packs both
// numbers of Cables.
type Message struct {
	Phase, Src, Dst int32 // Phase is the exchange of the window where messages have a start
	Spine, Top      int16
}

// Cables returns the numbers of the parallel cables that a message takes up and down.
func (m *Message) Cables() (up, down int) { return int(m.Top) >> 7, int(m.Top) & maxCable }

// Port returns the source port of a message over probed paths, 0 for none.
func (m *Message) Port() int {
	if m.Spine == NoSpine && m.Top == NoTop {
		return 0
	}
	return int(uint16(m.Spine))
}

func topOf(up, down int) int16 { return int16(up<<7 | down) }

// A Piece is a row of a plan of fragments of unequal size: a fragment, or a part of one, in byte times and bytes.
type Piece struct {
	Message
	Start, Bytes, Offset int64
}

// A File is the content of a plan file, before any check.
type File struct {
	Form        int
	Tree        *topology.Tree // with the dead links; nil over tables
	Over        *Over          // nil in a tree
	Unreachable [][2]int       // pairs of leaves whose messages are left out, as stated, the smaller leaf first
	Schedule    string
	Routing     string // pinned, none, ecmp, spray, adaptive or a single-path engine
	Phases      int    // as stated; 0 when not stated
	Bound       Bound  // as stated; Value is 0 when not stated
	Hash        string // as stated; "" when not stated
	// Time is that of the whole plan, as stated, in message times or byte times; 0 when not stated.
	Time     float64
	Sizes    string         // digest of the sizes, as stated; "" when not stated
	Window   int            // exchanges of a plan of fragments of unequal size
	Messages []Message      // in the order of the file; nil where there are pieces
	Pieces   []Piece        // of a plan of fragments of unequal size
	Rates    topology.Rates // of slow cables, as stated

	stated  map[string]string // header lines
	hosts   []string          // lines x-host
	to      []string          // lines x-port
	weights []string          // lines x-weight
	sized   bool
}

// Sized reports whether the plan is one of fragments that differ in size, which have a start and no phase.
func (f *File) Sized() bool { return f.sized }

// ByPorts reports whether the plan is one over paths that were probed, by source ports.
func (f *File) ByPorts() bool { return f.stated["paths"] != "" }

// Stated returns the value of a header line; "" for none.
func (f *File) Stated(key string) string { return f.stated[key] }

// Host returns the words of the line x-host of a rank, of which the first is a name; nil: it has none.
func (f *File) Host(rank int) []string {
	for i := range f.hosts { // written by rank
		if number, words, _ := strings.Cut(f.hosts[(rank+i)%len(f.hosts)], " "); number == strconv.Itoa(rank) {
			return strings.Fields(words)
		}
	}
	return nil
}

// HostName names a rank of a plan over tables or probed paths: as the file does, by its GUID, or by number.
func (f *File) HostName(rank int) string {
	switch words := f.Host(rank); {
	case len(words) > 0:
		return words[0]
	case f.Over.GUIDs != nil:
		return fmt.Sprintf("%#x", f.Over.GUIDs[rank])
	}
	return strconv.Itoa(rank)
}

// Servers returns how many servers, or adapters of hosts, a plan is for.
func (f *File) Servers() int {
	if f.Over != nil {
		return len(f.Over.Host)
	}
	return f.Tree.Servers()
}

// A Bound is a lower bound on the phases of any plan without contention, on byte times where sizes differ, or on message
// times over tables, and its proof.
type Bound struct {
	Value   float64
	Kind    string       // "server", "leaf3", "hall3", "pod1" or LP; "send server3" of byte times; a link over tables
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

// kindOf is the kind of a routing that was read. Of those that were handed in it is the strictest of tables.
func kindOf(routing string) routeKind {
	if kind, ok := routings[routing]; ok {
		return kind
	}
	return onePerDestination
}

const routingNames = "pinned, none, ftree, minhop, spread, ecmp, spray, adaptive, opensm-minhop, updn, updn-scatter, dnup, " +
	"dmodk, dmodc, dmodc-downcost, sssp, dfsssp, qft, ftree-to-opensm-minhop"

// The most memory, in bytes, that reading and judging take for each message and for each piece, which is sorted twice:
// measured with a million of each (31; 195), plus a margin.
const (
	MessageBytes = 64
	PieceBytes   = 240
)

// Head is how many bytes IsOver needs at most: of the lines before that with the hosts, one names the network.
const Head = 4 << 10

// IsOver reports whether a plan that begins so is one over given tables or probed paths.
func IsOver(head []byte) bool {
	return bytes.HasPrefix(head, []byte("# "+forms[3].first)) || bytes.Contains(head, []byte("\n# hosts "))
}

// Read reads a plan file of any form, packed with gzip or not. An error names the line and the reason. A wrong
// plan is not an error of Read; Check reports it. Engines are routings beside those known here, whose tables take one path from a leaf to
// each destination.
func Read(r io.Reader, engines ...string) (*File, error) {
	return ReadWithin(r, math.MaxInt, engines...)
}

// ReadWithin is Read for what reading and judging can do with so many bytes of memory. A small file can stand for many
// messages.
func ReadWithin(r io.Reader, memory int, engines ...string) (*File, error) {
	in, err := newInput(r)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	switch err := in.skipBlank(); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("empty: a plan file starts with %q", First)
	case err != nil:
		return nil, fmt.Errorf("read plan: %w", err)
	}
	return newReader(in, memory, engines).read()
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
	return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Spine, b.Spine), cmp.Compare(a.Top, b.Top))
}

func comparePieces(a, b Piece) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst),
		cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Spine, b.Spine), cmp.Compare(a.Top, b.Top))
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
