package verify

import (
	"fmt"

	"evbench/topology"
)

// A load is what one wire carries.
type load struct {
	phase int32 // ordinal of the phase that n and first belong to
	n     int32 // messages in that phase
	first int32 // index of the first of them
	total int32 // messages in the whole exchange
}

// A judge goes once through the messages. Everything it looks up on the way is
// a flat slice.
type judge struct {
	tree   *topology.Tree
	file   *File
	opt    Options
	report *Report

	messages []Message // canonical order
	rank     []int32   // [position], -1 where no server sits
	leaf     []int32   // [rank]
	met      []uint64  // bit src·S + dst, ranks
	wires    []load    // [topology.Wire]
	table    []uint8   // [leaf·S + destination]: spine+1, single-path routing only

	spines routeKind
	now    int32 // ordinal of the current phase, from 1
	most   int32 // largest load of a wire in it
	pairs  int   // different ordered pairs seen
}

func newJudge(f *File, o Options) *judge {
	t := f.Tree
	s := t.Servers()
	j := &judge{
		tree: t, file: f, opt: o,
		report:   &Report{Counts: map[Kind]int{}, Offences: []Offence{}, Notes: []string{}, Servers: s, Messages: len(f.Messages)},
		messages: canonical(f.Messages),
		rank:     make([]int32, t.Leaves()*t.Ports()),
		leaf:     make([]int32, s),
		met:      make([]uint64, (s*s+63)/64),
		wires:    make([]load, t.Wires()),
		spines:   routings[f.Routing],
	}
	for i := range j.rank {
		j.rank[i] = -1
	}
	for r := range s {
		j.rank[t.Position(r)], j.leaf[r] = int32(r), int32(t.Leaf(r))
	}
	if j.spines == onePerDestination {
		j.table = make([]uint8, t.Leaves()*s)
	}
	j.report.ContentionChecked = j.spines != open && !o.AllowContention
	j.noteContention()
	return j
}

func (j *judge) noteContention() {
	switch {
	case j.spines == open:
		j.note("contention not checked: with routing %s the file does not say which spine a message takes", j.file.Routing)
	case j.opt.AllowContention:
		j.note("contention not checked: it is allowed")
	}
}

func (j *judge) note(format string, args ...any) {
	j.report.Notes = append(j.report.Notes, fmt.Sprintf(format, args...))
}

// room reports whether another offence is kept in full.
func (j *judge) room() bool { return len(j.report.Offences) < j.opt.First }

// accuse counts n offences of a kind.
func (j *judge) accuse(k Kind, n int) {
	j.report.Total += n
	j.report.Counts[k] += n
}

// message accuses one message. The sentence is only written when it is kept.
func (j *judge) message(k Kind, m Message, sentence func() string) {
	if j.room() {
		j.report.Offences = append(j.report.Offences, Offence{k, int(m.Phase), int(m.Src), int(m.Dst), int(m.Spine),
			fmt.Sprintf("phase %d: %s", m.Phase, sentence())})
	}
	j.accuse(k, 1)
}

// claim accuses a statement of the file's header.
func (j *judge) claim(k Kind, format string, args ...any) {
	if j.room() {
		j.report.Offences = append(j.report.Offences, Offence{k, -1, -1, -1, -1, fmt.Sprintf(format, args...)})
	}
	j.accuse(k, 1)
}

// scan judges the messages one after another, phase by phase.
func (j *judge) scan() {
	last := int32(-1)
	for i, m := range j.messages {
		if m.Phase != last {
			j.endPhase()
			j.gap(last, m.Phase)
			last = m.Phase
			j.now++
		}
		j.one(int32(i), m)
	}
	j.endPhase()
	if j.spines == open {
		j.report.Duration = 0
	}
	if d := j.report.Duration; d > 0 {
		j.report.PredictedEfficiency = float64(j.report.Servers-1) / float64(d)
	}
}

// endPhase counts a phase that held a message between two servers.
func (j *judge) endPhase() {
	if j.most > 0 {
		j.report.Phases++
	}
	j.report.Duration += int(j.most)
	j.most = 0
}

// gap accuses the phases between two that follow each other in the file.
func (j *judge) gap(last, next int32) {
	empty := int(next - last - 1)
	if empty <= 0 {
		return
	}
	for p := int(last) + 1; p < int(next) && j.room(); p++ {
		j.report.Offences = append(j.report.Offences, Offence{PhaseGap, p, -1, -1, -1, fmt.Sprintf("phase %d holds no message", p)})
	}
	j.accuse(PhaseGap, empty)
}

// one judges a message. What has no meaning (an absent server, a server to
// itself) is not followed further.
func (j *judge) one(i int32, m Message) {
	src, dst := j.at(m.Src), j.at(m.Dst)
	if src < 0 || dst < 0 {
		j.absent(m, src, dst)
		return
	}
	if src == dst {
		j.message(SelfMessage, m, func() string { return fmt.Sprintf("server%d sends to itself", m.Src) })
		return
	}
	bit := int(src)*j.report.Servers + int(dst)
	if j.met[bit>>6]&(1<<(bit&63)) != 0 {
		j.message(RepeatedMessage, m, func() string { return j.repeated(i, m) })
	} else {
		j.met[bit>>6] |= 1 << (bit & 63)
		j.pairs++
	}
	if first, busy := j.put(j.tree.FromServer(int(src)), i); busy {
		j.message(SendsTwice, m, func() string {
			return fmt.Sprintf("server%d sends to server%d and to server%d", m.Src, first.Dst, m.Dst)
		})
	}
	if first, busy := j.put(j.tree.ToServer(int(dst)), i); busy {
		j.message(ReceivesTwice, m, func() string {
			return fmt.Sprintf("server%d receives from server%d and from server%d", m.Dst, first.Src, m.Src)
		})
	}
	j.path(i, m, int(j.leaf[src]), int(j.leaf[dst]), dst)
}

func (j *judge) at(position int32) int32 {
	if position < 0 || int(position) >= len(j.rank) {
		return -1
	}
	return j.rank[position]
}

// put loads a wire with message i and returns the first message of the phase on
// it, and whether that was another one.
func (j *judge) put(w topology.Wire, i int32) (first Message, busy bool) {
	l := &j.wires[w]
	l.total++
	if l.phase != j.now {
		l.phase, l.n, l.first = j.now, 0, i
	}
	l.n++
	j.most = max(j.most, l.n)
	if l.n == 1 {
		return Message{}, false
	}
	return j.messages[l.first], true
}

// path judges the spine of a message from leaf a to leaf b.
func (j *judge) path(i int32, m Message, a, b int, dst int32) {
	switch {
	case a == b || j.spines == open:
		if m.Spine != NoSpine {
			j.message(NeedlessSpine, m, func() string { return j.needless(m, a, b) })
		}
		return
	case m.Spine == NoSpine:
		j.message(MissingSpine, m, func() string {
			return fmt.Sprintf("server%d on leaf%d sends to server%d on leaf%d through no spine", m.Src, a, m.Dst, b)
		})
		return
	case m.Spine < 0 || int(m.Spine) >= j.tree.Spines():
		j.message(NoSuchSpine, m, func() string {
			return fmt.Sprintf("server%d sends to server%d through spine%d; there are spine0..spine%d", m.Src, m.Dst, m.Spine, j.tree.Spines()-1)
		})
		return
	}
	k := int(m.Spine)
	if !j.tree.Alive(a, k) || !j.tree.Alive(b, k) {
		j.message(DeadLink, m, func() string { return j.dead(m, a, b) })
	}
	j.wire(j.tree.Up(a, k), i, m)
	j.wire(j.tree.Down(b, k), i, m)
	j.tables(m, a, dst)
}

// wire loads a leaf-spine wire.
func (j *judge) wire(w topology.Wire, i int32, m Message) {
	if first, busy := j.put(w, i); busy && !j.opt.AllowContention {
		j.message(Contention, m, func() string {
			link, direction := j.tree.WireName(w)
			return fmt.Sprintf("%s (%s) carries server%d to server%d and server%d to server%d", link, direction, first.Src, first.Dst, m.Src, m.Dst)
		})
	}
}

// tables holds single-path routing to one spine per leaf and destination.
func (j *judge) tables(m Message, a int, dst int32) {
	if j.table == nil {
		return
	}
	entry, now := &j.table[a*j.report.Servers+int(dst)], uint8(m.Spine+1)
	if *entry == 0 {
		*entry = now
	}
	if *entry != now {
		j.message(Inconsistent, m, func() string {
			return fmt.Sprintf("leaf%d sends to server%d through spine%d, elsewhere through spine%d; routing %s has one path", a, m.Dst, m.Spine, *entry-1, j.file.Routing)
		})
	}
}
