package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"evbench/topology"
)

// Kinds of offence that only ordered plans have.
const (
	EmptyPiece    Kind = "empty-piece"    // a piece without bytes
	MissingBytes  Kind = "missing-bytes"  // bytes of a fragment that no piece carries
	RepeatedBytes Kind = "repeated-bytes" // bytes of a fragment that two pieces carry, or that it does not have
	WrongSizes    Kind = "wrong-sizes"    // the stated hash of the sizes is not that of the pieces
	WrongTime     Kind = "wrong-time"     // the stated time is not when the last piece ends
)

// A Size is the number of bytes of a fragment, servers by position.
type Size struct {
	Src, Dst int32
	Bytes    int64
	Exchange int32 // of the window, 0 first
}

// An OrderedReport is the judgement of one ordered plan.
type OrderedReport struct {
	Findings

	Servers   int   `json:"servers"`
	Exchanges int   `json:"exchanges"`
	Fragments int   `json:"fragments"`
	Pieces    int   `json:"pieces"`
	Bytes     int64 `json:"bytes"`
	Time      int64 `json:"time"` // byte times: when the last piece ends
	// Bound is the stated lower bound, nil without one.
	Bound *OrderedBound `json:"bound,omitempty"`
}

// An OrderedBound is the judge's finding on the stated lower bound.
type OrderedBound struct {
	Time    int64   `json:"time"`
	Witness string  `json:"witness"`
	Proven  bool    `json:"proven"` // the witness was recomputed (Options.Bound) and proves exactly this
	Ratio   float64 `json:"ratio"`  // of the bound over the time of the plan
}

// An orderedJudge holds its counts.
type orderedJudge struct {
	tree   *topology.Tree
	live   *topology.Tree // with the links that are dead now
	file   *Ordered
	opt    Options
	pieces []Piece // by start and src
	sound  []bool  // its ends are servers and it has bytes
	byPair []int32 // sound pieces by exchange, source, destination and offset
	sizes  []Size  // what the pieces of each fragment add up to, by exchange, source and destination
	report *OrderedReport
}

// CheckOrdered judges an ordered plan: no port and no link has two pieces at a time, all links are
// live, each byte of a fragment is sent once. sizes are the sizes for which the plan was made; nil
// checks coverage against the stated hash only. O(pieces·log pieces).
func CheckOrdered(f *Ordered, sizes []Size, o Options) *OrderedReport {
	o.First = cmp.Or(o.First, 10)
	j := &orderedJudge{tree: f.Tree, live: o.live(f.Tree), file: f, opt: o, pieces: f.Pieces}
	j.report = &OrderedReport{Findings: newFindings(o), Servers: f.Tree.Servers(), Exchanges: max(1, f.Window), Pieces: len(f.Pieces)}
	if !slices.IsSortedFunc(j.pieces, comparePieces) {
		j.pieces = slices.Clone(j.pieces)
		slices.SortFunc(j.pieces, comparePieces)
	}
	j.scan()
	j.cover()
	if sizes != nil {
		j.against(sizes)
	}
	j.claims()
	j.report.Valid = j.report.Total == 0
	return j.report
}

func (j *orderedJudge) accuse(kind Kind, p *Piece, format string, args ...any) {
	j.report.offence(Offence{kind, -1, int(p.Src), int(p.Dst), int(p.Spine), -1, ""}, format, args...)
}

// scan checks every piece against the fabric, and that every wire has one piece at a time.
func (j *orderedJudge) scan() {
	j.sound = make([]bool, len(j.pieces))
	until := make([]int64, j.tree.AllWires()) // when the piece on a wire that ends last ends
	last := make([]int32, j.tree.AllWires())
	for i := range j.pieces {
		p := &j.pieces[i]
		j.report.Time = max(j.report.Time, p.Start+p.Bytes)
		wires, ok := j.wires(p)
		j.sound[i] = ok
		for _, w := range wires {
			if p.Start < until[w] {
				j.overlap(w, p, &j.pieces[last[w]])
			}
			if end := p.Start + p.Bytes; end > until[w] {
				until[w], last[w] = end, int32(i)
			}
		}
	}
}

// wires returns the wires that a piece occupies. A piece outside the fabric is not sound.
func (j *orderedJudge) wires(p *Piece) (wires []topology.Wire, sound bool) {
	t := j.tree
	src, ok := t.Rank(int(p.Src))
	dst, ok2 := t.Rank(int(p.Dst))
	switch {
	case !ok || !ok2:
		absent := p.Src
		if ok {
			absent = p.Dst
		}
		j.accuse(UnknownServer, p, "server%d to server%d: no server%d in %s with this fill", p.Src, p.Dst, absent, t.Notation())
		return nil, false
	case src == dst:
		j.accuse(SelfMessage, p, "server%d sends to itself", p.Src)
		return nil, false
	case p.Bytes < 1:
		j.accuse(EmptyPiece, p, "server%d to server%d: a piece without bytes", p.Src, p.Dst)
		return nil, false
	}
	if !t.Reads(src) {
		j.accuse(NotReader, p, "server%d sends to server%d, but does not read", p.Src, p.Dst)
	}
	if !t.Builds(dst) {
		j.accuse(NotBuilder, p, "server%d sends to server%d, which does not build", p.Src, p.Dst)
	}
	wires = append(wires, t.FromServer(src), t.ToServer(dst))
	a, b, k := t.Leaf(src), t.Leaf(dst), int(p.Spine)
	apart := t.Pod(a) != t.Pod(b)
	switch {
	case a == b && p.Spine != NoSpine:
		j.accuse(NeedlessSpine, p, "server%d to server%d names spine%d, but both sit on leaf%d", p.Src, p.Dst, k, a)
	case a == b:
	case p.Spine == NoSpine:
		j.accuse(MissingSpine, p, "server%d on leaf%d sends to server%d on leaf%d through no spine", p.Src, a, p.Dst, b)
	case k >= t.Spines():
		j.accuse(NoSuchSpine, p, "server%d sends to server%d through spine%d; there are spine0..spine%d", p.Src, p.Dst, k, t.Spines()-1)
	case t.Cables() > 1 && p.Top == NoTop:
		j.accuse(MissingCable, p, "server%d on leaf%d sends to server%d on leaf%d through spine%d and no cable", p.Src, a, p.Dst, b, k)
	case apart && p.Top == NoTop:
		j.accuse(MissingTop, p, "server%d on leaf%d sends to server%d on leaf%d in another pod through no top switch", p.Src, a, p.Dst, b)
	case t.Levels() == 3 && !apart && p.Top != NoTop:
		j.accuse(NeedlessTop, p, "server%d to server%d names top switch %d, but both are in pod%d", p.Src, p.Dst, p.Top, t.Pod(a))
	default:
		return j.path(p, wires, a, b), true
	}
	return wires, true
}

// path adds the wires of a path between two leaves, if the path exists.
func (j *orderedJudge) path(p *Piece, wires []topology.Wire, a, b int) []topology.Wire {
	t, k, links := j.tree, int(p.Spine), [2][]topology.Link{}
	for i, leaf := range [2]int{a, b} {
		cable := 0
		if up, down := (&Message{Top: p.Top}).Cables(); t.Cables() > 1 {
			if cable = [2]int{up, down}[i]; cable >= t.Cables() {
				j.accuse(NoSuchCable, p, "server%d sends to server%d by cable %d of leaf%d to spine%d; there are 0..%d", p.Src, p.Dst, cable, leaf, k, t.Cables()-1)
				return wires
			}
		}
		links[i] = []topology.Link{t.Cable(leaf, k, cable)}
		if t.Pod(a) != t.Pod(b) {
			if int(p.Top) >= t.Tops() {
				j.accuse(NoSuchTop, p, "server%d sends to server%d over top switch %d of plane %d; there are 0..%d", p.Src, p.Dst, p.Top, k, t.Tops()-1)
				return wires
			}
			links[i] = append(links[i], topology.Link{Leaf: t.Pod(leaf), Spine: k, Above: true, Top: int(p.Top)})
		}
	}
	var out []topology.Wire
	for i := range links {
		for _, l := range links[i] {
			if !j.live.LinkAlive(l) {
				j.accuse(DeadLink, p, "server%d sends to server%d over %s, which is dead", p.Src, p.Dst, j.live.LinkName(l))
				return wires
			}
			out = append(out, t.UpWire(l)+topology.Wire(i))
		}
	}
	return append(wires, out...)
}

func (j *orderedJudge) overlap(w topology.Wire, p, first *Piece) {
	kind := Contention
	if server := int(w) - 2*j.tree.LowerLinks(); server >= 0 && server < 2*j.tree.Servers() {
		if kind = SendsTwice; w%2 == 1 {
			kind = ReceivesTwice
		}
	} else if j.opt.AllowContention {
		return
	}
	j.accuse(kind, p, "%s carries server%d to server%d from %d to %d and server%d to server%d from %d", wireText{j.tree, w},
		first.Src, first.Dst, first.Start, first.Start+first.Bytes, p.Src, p.Dst, p.Start)
}

// cover checks that the pieces of each pair carry each byte of one fragment once.
func (j *orderedJudge) cover() {
	j.byPair, j.sizes = make([]int32, 0, len(j.pieces)), make([]Size, 0, len(j.pieces))
	for i, ok := range j.sound {
		if ok {
			j.byPair = append(j.byPair, int32(i))
		}
	}
	slices.SortFunc(j.byPair, func(x, y int32) int { // by x and y last, which is stable and twice as fast as SortStableFunc
		a, b := &j.pieces[x], &j.pieces[y]
		return cmp.Or(cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Offset, b.Offset), cmp.Compare(x, y))
	})
	for _, i := range j.byPair {
		p := &j.pieces[i]
		j.report.Bytes += p.Bytes
		n := len(j.sizes)
		if of := (Size{p.Src, p.Dst, 0, p.Exchange}); n == 0 || compareFragments(j.sizes[n-1], of) != 0 {
			j.sizes = append(j.sizes, of)
			n++
		}
		s := &j.sizes[n-1]
		switch {
		case p.Offset > s.Bytes:
			j.accuse(MissingBytes, p, "%s: no piece carries bytes %d to %d", j.name(s), s.Bytes, p.Offset-1)
		case p.Offset < s.Bytes:
			j.accuse(RepeatedBytes, p, "%s: the piece from byte %d carries bytes again, up to byte %d", j.name(s), p.Offset, s.Bytes-1)
		}
		s.Bytes = max(s.Bytes, p.Offset+p.Bytes)
	}
	j.report.Fragments = len(j.sizes)
}

func (j *orderedJudge) name(s *Size) string {
	text := fmt.Sprintf("server%d to server%d", s.Src, s.Dst)
	if j.file.Window > 1 || s.Exchange > 0 {
		text += fmt.Sprintf(", exchange %d", s.Exchange)
	}
	return text
}

// against compares the bytes sent with the sizes.
func (j *orderedJudge) against(sizes []Size) {
	named := make([]bool, len(j.sizes)) // by the sizes
	for _, s := range sizes {
		sent := int64(0)
		if i, ok := slices.BinarySearchFunc(j.sizes, s, compareFragments); ok && !named[i] {
			sent, named[i] = j.sizes[i].Bytes, true
		}
		switch {
		case sent < s.Bytes:
			j.accuse(MissingBytes, &Piece{Src: s.Src, Dst: s.Dst, Spine: NoSpine, Top: NoTop}, "%s: %d bytes, the sizes have %d", j.name(&s), sent, s.Bytes)
		case sent > s.Bytes:
			j.accuse(RepeatedBytes, &Piece{Src: s.Src, Dst: s.Dst, Spine: NoSpine, Top: NoTop}, "%s: %d bytes, the sizes have %d", j.name(&s), sent, s.Bytes)
		}
	}
	for i, s := range j.sizes {
		if !named[i] {
			j.accuse(RepeatedBytes, &Piece{Src: s.Src, Dst: s.Dst, Spine: NoSpine, Top: NoTop}, "%s: %d bytes, the sizes have none", j.name(&s), s.Bytes)
		}
	}
}

func compareFragments(a, b Size) int {
	return cmp.Or(cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
}

func appendNumbers(b []byte, between byte, numbers ...int64) []byte {
	for i, n := range numbers {
		if i > 0 {
			b = append(b, between)
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

// sizesHash hashes the sums of the pieces.
func (j *orderedJudge) sizesHash() string {
	return digest("", len(j.sizes), func(b []byte, i int) []byte {
		s := &j.sizes[i]
		b = appendNumbers(b, ',', int64(s.Src), int64(s.Dst), s.Bytes)
		if s.Exchange > 0 {
			b = appendNumbers(append(b, ','), ',', int64(s.Exchange))
		}
		return append(b, '\n')
	})
}

func (j *orderedJudge) hash() string {
	head := j.tree.Words().Lines()
	if j.file.Window > 1 {
		head += fmt.Sprintf("# window %d\n", j.file.Window)
	}
	w := newLineWriter(j.tree)
	return digest(head, len(j.pieces), func(b []byte, i int) []byte {
		p := &j.pieces[i]
		b = append(appendNumbers(b, ' ', int64(p.Src), int64(p.Dst)), ' ')
		b = w.appendPath(b, int(p.Spine), int(p.Top))
		b = appendNumbers(append(b[:len(b)-1], ' '), ' ', p.Start, p.Bytes)
		switch {
		case p.Exchange > 0:
			b = appendNumbers(append(b, ' '), ' ', p.Offset, int64(p.Exchange))
		case p.Offset > 0:
			b = appendNumbers(append(b, ' '), ' ', p.Offset)
		}
		return append(b, '\n')
	})
}
