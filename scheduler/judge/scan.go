package judge

import (
	"fmt"

	"evbench/topology"
)

// scan judges the messages in order, phase by phase. Nearly all messages are right; usual handles
// them quickly.
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
	if j.over == nil && j.spines == open || j.over != nil && !j.opt.located() {
		j.Report.Duration = 0
	}
	if d := j.Report.Duration; d > 0 {
		j.Report.PredictedEfficiency = float64(j.ideal) / d
	}
}

// usual handles the messages of one phase from message i on that are between leaves, with all wires
// alive and free and a pair of servers that has not met. It records them as one does, and returns
// the first other message.
func (j *judge) usual(i int) int {
	if j.spines != free || j.rate != nil || j.cut != nil || j.form != spineForm || j.tree.Divided() {
		return i
	}
	t, live, seats, wires, met, now := j.tree, j.live, j.seats, j.wires, j.met, j.now
	begin, phase, servers, spines := i, j.messages[i].Phase, uint(j.Report.Servers), uint(t.Spines())
	for ; i < len(j.messages); i++ {
		m := &j.messages[i]
		if m.Phase != phase || uint(m.Src) >= uint(len(seats)) || uint(m.Dst) >= uint(len(seats)) || uint(m.Spine) >= spines {
			break
		}
		src, dst, k := seats[m.Src], seats[m.Dst], int(m.Spine)
		if src.rank < 0 || dst.rank < 0 || src.leaf == dst.leaf || !live.Alive(int(src.leaf), k) || !live.Alive(int(dst.leaf), k) {
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

func (j *judge) endPhase() {
	if j.most > 0 {
		j.Report.Phases++
	}
	j.Report.Duration += max(float64(j.most), j.longest)
	j.most, j.longest = 0, 0
}

// gap reports the empty phases between two that follow each other in the file.
func (j *judge) gap(last, next int32) {
	empty := int(next - last - 1)
	if empty <= 0 {
		return
	}
	for p := int(last) + 1; p < int(next) && j.room(); p++ {
		j.Report.Offences = append(j.Report.Offences, Offence{PhaseGap, p, -1, -1, -1, -1, fmt.Sprintf("phase %d holds no message", p)})
	}
	j.accuse(PhaseGap, empty)
}

// one judges message i, and reports whether it has two ends. It skips further checks of a message without a meaning (an
// absent server, a server to itself).
func (j *judge) one(i int32) bool {
	m := &j.messages[i]
	src, dst := j.at(m.Src), j.at(m.Dst)
	if src.rank < 0 || dst.rank < 0 || src.rank == dst.rank || j.over != nil && j.over.Host[src.rank] == j.over.Host[dst.rank] {
		j.meaningless(i, src, dst)
		return false
	}
	if j.file.sized && !j.carries(i) {
		return false
	}
	j.meet(i, src, dst)
	way := j.way(i, src, dst)
	j.port(i, src, dst)
	switch {
	case j.over != nil:
		for _, l := range way {
			j.occupy(i, j.link(l))
		}
	case src.leaf == dst.leaf || j.spines == open:
		if m.Spine != NoSpine || j.form != spineForm && m.Top != NoTop {
			j.needless(i, src, dst)
		}
	case m.Spine == NoSpine:
		j.message(MissingSpine, i, "server%d on leaf%d sends to server%d on leaf%d through no spine", m.Src, src.leaf, m.Dst, dst.leaf)
	case uint(m.Spine) >= uint(j.tree.Spines()):
		j.message(NoSuchSpine, i, "server%d sends to server%d through spine%d; there are spine0..spine%d", m.Src, m.Dst, m.Spine, j.tree.Spines()-1)
	default:
		if j.leaves(i, src, dst) && j.form == topForm {
			j.pods(i, src, dst)
		}
	}
	return true
}

// port loads the wires of the two servers.
func (j *judge) port(i int32, src, dst seat) {
	m := &j.messages[i]
	if first, shared := j.put(j.from(src.rank), i); shared {
		j.message(SendsTwice, i, "server%d sends to server%d and to server%d", m.Src, j.messages[first].Dst, m.Dst)
	}
	if first, shared := j.put(j.to(dst.rank), i); shared {
		j.message(ReceivesTwice, i, "server%d receives from server%d and from server%d", m.Dst, j.messages[first].Src, m.Src)
	}
}

func (j *judge) at(position int32) seat {
	if uint(position) >= uint(len(j.seats)) {
		return seat{rank: -1}
	}
	return j.seats[position]
}

// meet notes that two servers have met. A pair that is left out must not meet, and does not count.
func (j *judge) meet(i int32, src, dst seat) {
	left, m := j.cut != nil && j.left(int(src.leaf), int(dst.leaf)), &j.messages[i]
	if left {
		j.message(UnreachableMessage, i, "server%d on leaf%d sends to server%d on leaf%d, but the file lists the leaves as unreachable", m.Src, src.leaf, m.Dst, dst.leaf)
	}
	if !j.reads[src.rank] {
		left = true
		j.message(NotReader, i, "server%d sends to server%d, but does not read", m.Src, m.Dst)
	}
	if !j.builds[dst.rank] {
		left = true
		j.message(NotBuilder, i, "server%d sends to server%d, which does not build", m.Src, m.Dst)
	}
	if j.file.sized { // whose bytes are counted
		return
	}
	bit := uint(src.rank)*uint(j.Report.Servers) + uint(dst.rank)
	word, mask := &j.met[bit>>6], uint64(1)<<(bit&63)
	switch {
	case *word&mask != 0:
		j.message(RepeatedMessage, i, "server%d sends to server%d again%s", m.Src, m.Dst, repeated{j, i})
	case !left:
		j.pairs++
	}
	*word |= mask
}

// put loads a wire with message i. It reports whether that is more than the wire has room for, and an earlier message on it.
func (j *judge) put(w topology.Wire, i int32) (first int32, shared bool) {
	if j.file.sized {
		return j.hold(w, i)
	}
	l := &j.wires[w]
	if l.phase != j.now {
		l.phase, l.n, l.first = j.now, 0, i
	}
	l.n++
	j.most = max(j.most, 1)
	if j.rate == nil {
		j.most = max(j.most, l.n)
		return l.first, l.n > 1
	}
	j.longest = max(j.longest, float64(l.n)/j.rate[w])
	return l.first, l.n > j.capacity(w)
}

// capacity is how many messages a wire carries at once.
func (j *judge) capacity(w topology.Wire) int32 {
	if j.rate == nil {
		return 1
	}
	return max(1, int32(j.rate[w]))
}

// leaves judges the cables of a message to its spine, or plane, and from it, and reports whether there are such cables.
func (j *judge) leaves(i int32, src, dst seat) bool {
	t, m, a, b, k := j.tree, &j.messages[i], int(src.leaf), int(dst.leaf), int(j.messages[i].Spine)
	if j.form != cablesForm {
		j.crosses(i, t.Cable(a, k, 0), t.Cable(b, k, 0))
		j.once(i, j.table, a*j.Report.Servers+int(dst.rank), k, func(k int) (from, through string) { return fmt.Sprint("leaf", a), fmt.Sprint("through spine", k) })
		return true
	}
	if m.Top == NoTop {
		j.message(MissingCable, i, "server%d on leaf%d sends to server%d on leaf%d through spine%d and no cable", m.Src, a, m.Dst, b, k)
		return false
	}
	up, down := m.Cables()
	if most := max(up, down); most >= t.Cables() {
		j.message(NoSuchCable, i, "server%d sends to server%d over cable %d of spine%d; there are 0..%d", m.Src, m.Dst, most, k, t.Cables()-1)
		return false
	}
	j.crosses(i, t.Cable(a, k, up), t.Cable(b, k, down))
	j.once(i, j.table, a*j.Report.Servers+int(dst.rank), k*t.Cables()+up, func(port int) (from, through string) {
		return fmt.Sprint("leaf", a), fmt.Sprint("over ", t.Cable(a, port/t.Cables(), port%t.Cables()))
	})
	j.once(i, j.tops, k*j.Report.Servers+int(dst.rank), down, func(cable int) (from, through string) {
		return fmt.Sprint("spine", k), fmt.Sprint("over ", t.Cable(b, k, cable))
	})
	return true
}

// occupy loads the wires of a message upwards and downwards.
func (j *judge) occupy(i int32, wires ...topology.Wire) {
	for _, w := range wires {
		if first, shared := j.put(w, i); shared && !j.opt.AllowContention {
			a, b := &j.messages[first], &j.messages[i]
			j.message(Contention, i, "%s carries server%d to server%d and server%d to server%d", wireText{j, w}, a.Src, a.Dst, b.Src, b.Dst)
		}
	}
}

func (j *judge) pods(i int32, src, dst seat) {
	t, m := j.tree, &j.messages[i]
	a, b, k, top := t.Pod(int(src.leaf)), t.Pod(int(dst.leaf)), int(m.Spine), int(m.Top)
	switch {
	case a == b && m.Top != NoTop:
		j.message(NeedlessTop, i, "server%d to server%d names top%d, but both sit in pod%d", m.Src, m.Dst, top, a)
		return
	case a == b:
		return
	case m.Top == NoTop:
		j.message(MissingTop, i, "server%d in pod%d sends to server%d in pod%d through spine%d and no top switch", m.Src, a, m.Dst, b, k)
		return
	case uint(top) >= uint(t.Tops()):
		j.message(NoSuchTop, i, "server%d sends to server%d through top%d of spine%d; there are top0..top%d", m.Src, m.Dst, top, k, t.Tops()-1)
		return
	}
	j.crosses(i, topology.Link{Leaf: a, Spine: k, Above: true, Top: top}, topology.Link{Leaf: b, Spine: k, Above: true, Top: top})
	j.once(i, j.tops, (a*t.Spines()+k)*j.Report.Servers+int(dst.rank), top, func(top int) (from, through string) {
		return fmt.Sprint("pod", a), fmt.Sprintf("through top%d of spine%d", top, k)
	})
}

// crosses judges two links of a message, up and down.
func (j *judge) crosses(i int32, up, down topology.Link) {
	m := &j.messages[i]
	for _, l := range [2]topology.Link{up, down} {
		if !j.live.LinkAlive(l) {
			j.message(DeadLink, i, "server%d sends to server%d over %s, which is dead", m.Src, m.Dst, j.live.LinkName(l))
			break
		}
	}
	j.occupy(i, j.tree.UpWire(up), j.tree.UpWire(down)+1)
}

// once notes in a forwarding table by which port a message leaves a switch, which named says, and reports it if it is another one
// than before; nil: the routing has several paths.
func (j *judge) once(i int32, table []uint8, entry, port int, named func(port int) (from, through string)) {
	switch {
	case table == nil:
	case table[entry] == 0:
		table[entry] = uint8(port + 1)
	case int(table[entry]) != port+1:
		from, through := named(port)
		_, elsewhere := named(int(table[entry]) - 1)
		j.message(Inconsistent, i, "%s sends to server%d %s, elsewhere %s; routing %s has one path", from, j.messages[i].Dst, through, elsewhere, j.file.Routing)
	}
}
