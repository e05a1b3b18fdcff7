package verify

import (
	"fmt"

	"evbench/topology"
)

// meaningless reports a message with an absent end, or with one end only.
func (j *judge) meaningless(i int32, src, dst seat) {
	m := &j.messages[i]
	if src.rank >= 0 && dst.rank >= 0 {
		j.message(SelfMessage, i, "server%d sends to itself", m.Src)
		return
	}
	if src.rank < 0 {
		j.message(UnknownServer, i, "%s", absent{j, m.Src})
	}
	if dst.rank < 0 {
		j.message(UnknownServer, i, "%s", absent{j, m.Dst})
	}
}

// Sentences that take long to write are written only if kept.
type (
	absent struct {
		*judge
		position int32
	}
	repeated struct {
		*judge
		i int32
	}
	wireText struct {
		*topology.Tree
		wire topology.Wire
	}
)

func (x absent) String() string {
	if x.position < 0 || int(x.position) >= len(x.seats) {
		return fmt.Sprintf("no server%d: %s has server0..server%d", x.position, x.tree.Notation(), len(x.seats)-1)
	}
	leaf, slot := int(x.position)/x.tree.Ports(), int(x.position)%x.tree.Ports()
	return fmt.Sprintf("no server%d: it would sit in slot %d of leaf%d, where the fill puts %d servers", x.position, slot, leaf, x.tree.On(leaf))
}

// String names the phase in which the pair of a message met first. O(messages).
func (x repeated) String() string {
	m := &x.messages[x.i]
	for _, first := range x.messages[:x.i] {
		if first.Src == m.Src && first.Dst == m.Dst {
			return fmt.Sprintf(", after phase %d", first.Phase)
		}
	}
	return ""
}

// String names one direction of a link: "leaf0-spine3 (up)".
func (x wireText) String() string {
	link, direction := x.WireName(x.wire)
	return fmt.Sprintf("%s (%s)", link, direction)
}

func (j *judge) contention(i int32, w topology.Wire) {
	if m, first := &j.messages[i], &j.messages[j.wires[w].first]; !j.opt.AllowContention {
		j.message(Contention, i, "%s carries server%d to server%d and server%d to server%d", wireText{j.tree, w}, first.Src, first.Dst, m.Src, m.Dst)
	}
}

// needless reports a path inside a leaf, or where the routing leaves the path open.
func (j *judge) needless(i int32, src, dst seat) {
	m, why := &j.messages[i], "routing "+j.file.Routing+" leaves the spine open"
	if src.leaf == dst.leaf {
		why = fmt.Sprintf("both sit on leaf%d", src.leaf)
	}
	switch what, n := "spine", m.Spine; {
	case n == NoSpine:
		what, n = "top", m.Top
		fallthrough
	default:
		j.message(NeedlessSpine, i, "server%d to server%d names %s%d, but %s", m.Src, m.Dst, what, n, why)
	}
}

// missing reports the ordered pairs that never met. It looks only for as many as are kept.
func (j *judge) missing() {
	s := j.Report.Servers
	never := j.expected - j.pairs
	found := 0
	for src, dst := range j.tree.Pairs {
		if found >= never || !j.room() {
			break
		}
		bit := src*s + dst
		if j.met[bit>>6]&(1<<(bit&63)) != 0 || j.cut != nil && j.left(j.tree.Leaf(src), j.tree.Leaf(dst)) {
			continue
		}
		found++
		a, b := j.tree.Position(src), j.tree.Position(dst)
		j.Report.Offences = append(j.Report.Offences, Offence{MissingMessage, -1, a, b, -1, -1, fmt.Sprintf("server%d never sends to server%d", a, b)})
	}
	if never > 0 {
		j.accuse(MissingMessage, never)
	}
}
