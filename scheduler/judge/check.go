package judge

import (
	"cmp"
	"slices"

	"evbench/topology"
)

// A load is the load of a wire in a phase.
type load struct {
	phase int32 // ordinal of the phase that n and first belong to
	n     int32 // messages in that phase
	first int32 // index of the first of them
}

// A seat is the server at a position.
type seat struct {
	rank int32 // -1: no server
	leaf int32
}

// A judge reads the messages once. All its tables are flat slices.
type judge struct {
	tree *topology.Tree
	live *topology.Tree // with the links that are dead now
	over *Over          // of a plan over tables, which has no tree
	file *File
	opt  Options
	*Report

	messages []Message // canonical order; of pieces in the order of those
	pieces   []Piece   // by start and source
	seats    []seat    // [position]
	reads    []bool    // [rank]
	builds   []bool
	met      []uint64 // bit src·S + dst, ranks
	wires    []load   // [topology.Wire]; over tables servers as in Wires, from 0, then links
	ports    topology.Wire
	table    []uint8 // [leaf·S + destination]: spine+1, or cable up +1; single-path routing only
	tops     []uint8 // [(pod·planes + plane)·S + destination]: top+1, or cable down +1; likewise

	cut      []bool // [a·leaves + b]: left out and really unreachable; nil when no pair is
	out, in  []int  // [leaf]: messages to other leaves, and from them
	expected int    // messages of a plan that is complete
	ideal    int    // most messages of one server

	form   pathForm
	spines routeKind
	digest string // canonical, when the file states one
	now    int32  // ordinal of the current phase, from 1
	most   int32  // largest load of a wire in it

	rate    []float64 // [topology.Wire]; nil: all wires have the link rate
	longest float64   // what the current phase takes, with rates
	pairs   int       // different ordered pairs seen that are not left out

	slots   [][]slot // [topology.Wire]: what is on it, of pieces
	took    int64    // of the current piece
	end     int64    // of the last piece
	sound   []int32  // pieces with two ends and bytes, by exchange, source, destination and offset
	sizes   []Size   // what the pieces of each fragment add up to, likewise
	needs   float64  // of the busiest link over tables
	busiest string

	links  []string // of a plan by ports, by name
	linkOf map[string]int32
}

func newJudge(f *File, o Options) *judge {
	s := f.Servers()
	j := &judge{
		tree: f.Tree, over: f.Over, file: f, opt: o,
		Report: &Report{Findings: newFindings(o), File: f, Servers: s, Messages: len(f.Messages)},
		met:    make([]uint64, (s*s+63)/64), reads: make([]bool, s), builds: make([]bool, s),
		spines: kindOf(f.Routing),
	}
	if f.sized {
		j.sort()
	} else {
		j.messages = canonical(f.Messages)
	}
	if j.over != nil {
		j.spines = open // the file names none
		j.overTables()
	} else {
		j.inTree()
	}
	if f.sized {
		j.slots = make([][]slot, len(j.wires))
	}
	j.Report.ContentionChecked = !j.opt.AllowContention && (j.spines != open || j.over != nil && o.located())
	j.noteContention()
	return j
}

func (j *judge) inTree() {
	t, s := j.tree, j.Report.Servers
	j.live, j.form, j.ports = cmp.Or(j.opt.Live, t), pathFormOf(t.Shape), t.FromServer(0)
	j.wires = make([]load, t.AllWires())
	j.seats = slices.Repeat([]seat{{rank: -1}}, t.Leaves()*t.Ports())
	for l := range t.Leaves() {
		for r := t.First(l); r < t.First(l+1); r++ {
			j.seats[l*t.Ports()+r-t.First(l)] = seat{int32(r), int32(l)}
		}
	}
	for r := range s {
		j.reads[r], j.builds[r] = t.Reads(r), t.Builds(r)
	}
	if j.spines == onePerDestination {
		j.table = make([]uint8, t.Leaves()*s)
		if j.form != spineForm {
			j.tops = make([]uint8, t.Pods()*t.Spines()*s)
		}
	}
	j.leaveOut()
	if !j.file.sized {
		j.rates(j.opt.Rates)
	}
}

// from and to are the wires of a server.
func (j *judge) from(rank int32) topology.Wire { return j.ports + topology.Wire(2*rank) }
func (j *judge) to(rank int32) topology.Wire   { return j.ports + topology.Wire(2*rank+1) }

// leaveOut finds the messages that a plan must have. A listed pair that is reachable changes
// nothing here; claims reports it.
func (j *judge) leaveOut() {
	leaves := j.tree.Leaves()
	j.out, j.in = make([]int, leaves), make([]int, leaves)
	for l := range leaves {
		j.out[l], j.in[l] = j.tree.Crossing(l)
	}
	for _, p := range j.file.Unreachable {
		if len(j.tree.LivePaths(p[0], p[1])) > 0 {
			continue
		}
		if j.cut == nil {
			j.cut = make([]bool, leaves*leaves)
		}
		j.cut[p[0]*leaves+p[1]], j.cut[p[1]*leaves+p[0]] = true, true
		for i, a := range p {
			j.out[a] -= j.tree.MessagesTo(a, p[1-i])
			j.in[a] -= j.tree.MessagesTo(p[1-i], a)
		}
		j.Report.LeftOut += j.tree.MessagesBetween(p[0], p[1])
	}
	j.expected = j.tree.Messages() - j.Report.LeftOut
	if j.ideal = j.tree.MostMessages(); j.cut != nil {
		j.ideal = j.busiestServer()
	}
}

// busiestServer returns the most messages that one server sends, or receives, without those left out.
func (j *judge) busiestServer() (most int) {
	sent, heard, leaf := make([]int, j.tree.Servers()), make([]int, j.tree.Servers()), j.tree.LeafOfRanks()
	for src, dst := range j.tree.Pairs {
		if !j.left(leaf[src], leaf[dst]) {
			sent[src]++
			heard[dst]++
			most = max(most, sent[src], heard[dst])
		}
	}
	return most
}

func (j *judge) left(a, b int) bool { return j.cut != nil && j.cut[a*j.tree.Leaves()+b] }

// rates sets the rates of slow cables, those given or else those of the file. With some messages may share links.
func (j *judge) rates(given *topology.Rates) {
	r := cmp.Or(given, &j.file.Rates)
	if j.Report.Slow = len(r.Hosts) + len(r.Slow); j.Report.Slow == 0 {
		return
	}
	j.opt.AllowContention = true
	j.rate = slices.Repeat([]float64{1}, len(j.wires))
	for _, h := range r.Hosts {
		j.rate[j.tree.FromServer(h.Rank)], j.rate[j.tree.ToServer(h.Rank)] = h.Share, h.Share
	}
	for _, x := range r.Slow {
		w := j.tree.UpWire(x.Link)
		j.rate[w], j.rate[w+1] = x.Share, x.Share // the two wires of a cable are neighbours
	}
}

func (j *judge) noteContention() {
	switch {
	case j.over != nil && !j.opt.located():
		what := "tables"
		if j.file.ByPorts() {
			what = "paths"
		}
		j.note("contention not checked: without the %s nothing is known of the links that messages take", what)
	case (j.spines != open || j.over != nil) && j.rate != nil && j.opt.AllowContention:
		j.note("where cables are slow, messages may share links in long phases; the duration counts that")
	case j.over == nil && j.spines == open:
		j.note("contention not checked: with routing %s the file does not say which spine a message takes", j.file.Routing)
	case j.opt.AllowContention:
		j.note("contention not checked: it is allowed")
	}
}

// message reports message i.
func (j *judge) message(k Kind, i int32, format string, args ...any) {
	m := &j.messages[i]
	o := Offence{k, int(m.Phase), int(m.Src), int(m.Dst), int(m.Spine), NoTop, ""}
	if j.form == topForm {
		o.Top = int(m.Top)
	}
	if j.file.sized {
		o.Phase = -1
		j.offence(o, "at %d: "+format, append([]any{j.pieces[i].Start}, args...)...)
		return
	}
	j.offence(o, "phase %d: "+format, append([]any{m.Phase}, args...)...)
}
