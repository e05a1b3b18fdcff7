package verify

import "fmt"

// scan judges the messages one after another, phase by phase. Nearly every
// message of a plan is right: usual takes those, so that what is wrong with the
// others costs them nothing.
func (j *judge) scan() {
	last := int32(-1)
	for i := 0; i < len(j.messages); {
		p := j.messages[i].Phase
		j.gap(last, p)
		last = p
		j.now++
		for i < len(j.messages) && j.messages[i].Phase == p {
			if n := j.usual(i); n > i {
				i = n
				continue
			}
			j.one(int32(i))
			i++
		}
		j.endPhase()
	}
	if j.spines == open {
		j.report.Duration = 0
	}
	if d := j.report.Duration; d > 0 {
		j.report.PredictedEfficiency = float64(j.ideal) / float64(d)
	}
}

// usual takes the messages of one phase from the i-th on that are between leaves,
// with all wires alive and free and a pair of servers that has not met. It does to
// them what one does, and returns the first message that is not so.
func (j *judge) usual(i int) int {
	if j.spines != free || j.cut != nil || j.tree.Levels() == 3 {
		return i
	}
	t, seats, wires, met, now := j.tree, j.seats, j.wires, j.met, j.now
	begin, phase, servers, spines := i, j.messages[i].Phase, uint(j.report.Servers), uint(t.Spines())
	for ; i < len(j.messages); i++ {
		m := &j.messages[i]
		if m.Phase != phase || uint(m.Src) >= uint(len(seats)) || uint(m.Dst) >= uint(len(seats)) || uint(m.Spine) >= spines {
			break
		}
		src, dst, k := seats[m.Src], seats[m.Dst], int(m.Spine)
		if src.rank < 0 || dst.rank < 0 || src.leaf == dst.leaf || !t.Alive(int(src.leaf), k) || !t.Alive(int(dst.leaf), k) {
			break
		}
		bit := uint(src.rank)*servers + uint(dst.rank)
		word, mask := &met[bit>>6], uint64(1)<<(bit&63)
		from, to := &wires[t.FromServer(int(src.rank))], &wires[t.ToServer(int(dst.rank))]
		up, down := &wires[t.Up(int(src.leaf), k)], &wires[t.Down(int(dst.leaf), k)]
		if *word&mask != 0 || from.phase == now || to.phase == now || up.phase == now || down.phase == now {
			break
		}
		*word |= mask
		*from, *to = load{now, 1, int32(i)}, load{now, 1, int32(i)}
		*up, *down = load{now, 1, int32(i)}, load{now, 1, int32(i)}
	}
	if i > begin {
		j.pairs += i - begin
		j.most = max(j.most, 1)
	}
	return i
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
		j.report.Offences = append(j.report.Offences, Offence{PhaseGap, p, -1, -1, -1, -1, fmt.Sprintf("phase %d holds no message", p)})
	}
	j.accuse(PhaseGap, empty)
}

// one judges message i. What has no meaning (an absent server, a server to
// itself) is not followed further.
func (j *judge) one(i int32) {
	m := &j.messages[i]
	src, dst := j.at(m.Src), j.at(m.Dst)
	if src.rank < 0 || dst.rank < 0 || src.rank == dst.rank {
		j.meaningless(i, src, dst)
		return
	}
	j.meet(i, src, dst)
	if w := int(j.tree.FromServer(int(src.rank))); j.put(w, i) {
		j.sendsTwice(i, w)
	}
	if w := int(j.tree.ToServer(int(dst.rank))); j.put(w, i) {
		j.receivesTwice(i, w)
	}
	if src.leaf == dst.leaf || j.spines == open {
		if m.Spine != NoSpine || j.tree.Levels() == 3 && m.Top != NoTop {
			j.needless(i, src, dst)
		}
		return
	}
	if uint(m.Spine) >= uint(j.tree.Spines()) {
		j.noSpine(i, src, dst)
		return
	}
	j.leaves(i, src, dst)
	if j.tree.Levels() == 3 {
		j.pods(i, src, dst)
	}
}

func (j *judge) at(position int32) seat {
	if uint(position) >= uint(len(j.seats)) {
		return seat{rank: -1}
	}
	return j.seats[position]
}

// meet notes that two servers have met. A pair that is left out should not, and
// counts towards no plan.
func (j *judge) meet(i int32, src, dst seat) {
	left := j.cut != nil && j.left(int(src.leaf), int(dst.leaf))
	if left {
		j.unreachable(i, src, dst)
	}
	bit := uint(src.rank)*uint(j.report.Servers) + uint(dst.rank)
	word, mask := &j.met[bit>>6], uint64(1)<<(bit&63)
	switch {
	case *word&mask != 0:
		j.repeated(i)
	case !left:
		j.pairs++
	}
	*word |= mask
}

// put loads a wire with message i and reports whether it carried another one in
// this phase already.
func (j *judge) put(w int, i int32) bool {
	l := &j.wires[w]
	if l.phase != j.now {
		l.phase, l.n, l.first = j.now, 1, i
		j.most = max(j.most, 1)
		return false
	}
	l.n++
	j.most = max(j.most, l.n)
	return true
}

// leaves judges the links between leaves and spines that a message takes.
func (j *judge) leaves(i int32, src, dst seat) {
	a, b, k := int(src.leaf), int(dst.leaf), int(j.messages[i].Spine)
	if !j.tree.Alive(a, k) || !j.tree.Alive(b, k) {
		j.deadLeaf(i, a, b)
	}
	if up := int(j.tree.Up(a, k)); j.put(up, i) {
		j.contention(i, up)
	}
	if down := int(j.tree.Down(b, k)); j.put(down, i) {
		j.contention(i, down)
	}
	if j.table != nil && !enter(j.table, a*j.report.Servers+int(dst.rank), k) {
		j.inconsistent(i, a, int(dst.rank))
	}
}

// pods judges the links between pods and top switches that a message takes.
func (j *judge) pods(i int32, src, dst seat) {
	p, m := j.tree, &j.messages[i]
	a, b := p.Pod(int(src.leaf)), p.Pod(int(dst.leaf))
	if a == b {
		if m.Top != NoTop {
			j.needlessTop(i, a)
		}
		return
	}
	if uint(m.Top) >= uint(p.Tops()) {
		j.noTop(i, a, b)
		return
	}
	k, top := int(m.Spine), int(m.Top)
	if !p.TopAlive(a, k, top) || !p.TopAlive(b, k, top) {
		j.deadTop(i, a, b)
	}
	if up := int(p.TopUp(a, k, top)); j.put(up, i) {
		j.contention(i, up)
	}
	if down := int(p.TopDown(b, k, top)); j.put(down, i) {
		j.contention(i, down)
	}
	if from := a*j.tree.Spines() + k; j.tops != nil && !enter(j.tops, from*j.report.Servers+int(dst.rank), top) {
		j.inconsistentTop(i, a, int(dst.rank))
	}
}

// enter notes a port in a forwarding table, or reports false when it holds
// another one.
func enter(table []uint8, entry, port int) bool {
	if table[entry] == 0 {
		table[entry] = uint8(port + 1)
	}
	return table[entry] == uint8(port+1)
}
