package verify

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
	file *File
	opt  Options
	*Report

	messages []Message // canonical order
	seats    []seat    // [position]
	met      []uint64  // bit src·S + dst, ranks
	wires    []load    // [topology.Wire]
	table    []uint8   // [leaf·S + destination]: spine+1, or cable up +1; single-path routing only
	tops     []uint8   // [(pod·planes + plane)·S + destination]: top+1, or cable down +1; likewise

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
}

func newJudge(f *File, o Options) *judge {
	t := f.Tree
	s := t.Servers()
	j := &judge{
		tree: t, live: o.live(t), file: f, opt: o,
		Report:   &Report{Findings: newFindings(o), Servers: s, Messages: len(f.Messages)},
		messages: canonical(f.Messages),
		seats:    slices.Repeat([]seat{{rank: -1}}, t.Leaves()*t.Ports()),
		met:      make([]uint64, (s*s+63)/64),
		spines:   routings[f.Routing], form: pathFormOf(t.Shape),
	}
	j.wires = make([]load, j.tree.AllWires())
	for l := range t.Leaves() {
		for r := t.First(l); r < t.First(l+1); r++ {
			j.seats[l*t.Ports()+r-t.First(l)] = seat{int32(r), int32(l)}
		}
	}
	if j.spines == onePerDestination {
		j.table = make([]uint8, t.Leaves()*s)
		if j.form != spineForm {
			j.tops = make([]uint8, j.tree.Pods()*t.Spines()*s)
		}
	}
	j.leaveOut()
	j.rates(o.Rates)
	j.Report.ContentionChecked = j.spines != open && !j.opt.AllowContention
	j.noteContention()
	return j
}

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
		j.ideal = j.busiest()
	}
}

// busiest returns the most messages that one server sends, or receives, without those left out.
func (j *judge) busiest() (most int) {
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
	case j.spines != open && j.rate != nil:
		j.note("where cables are slow, messages may share links in long phases; the duration counts that")
	case j.spines == open:
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
	j.offence(o, "phase %d: "+format, append([]any{m.Phase}, args...)...)
}
