package judge

import (
	"fmt"

	"evbench/topology"
)

// meaningless reports a message with an absent end, or with one end only.
func (j *judge) meaningless(i int32, src, dst seat) {
	m := &j.messages[i]
	if src.rank >= 0 && dst.rank >= 0 {
		if m.Src != m.Dst {
			j.message(SelfMessage, i, "server%d sends to server%d, an adapter of the same host", m.Src, m.Dst)
			return
		}
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
		*judge
		wire topology.Wire
	}
)

func (x absent) String() string {
	if x.over != nil {
		return fmt.Sprintf("no server%d: there are server0..server%d", x.position, len(x.seats)-1)
	}
	if x.position < 0 || int(x.position) >= len(x.seats) {
		return fmt.Sprintf("no server%d: %s has server0..server%d", x.position, x.tree.Notation(), len(x.seats)-1)
	}
	leaf, slot := int(x.position)/x.tree.Ports(), int(x.position)%x.tree.Ports()
	return fmt.Sprintf("no server%d: it would sit in slot %d of leaf%d, where the fill puts %d servers", x.position, slot, leaf, x.tree.ServersOn(leaf))
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

// String names one direction of a link: "leaf0-spine3 (up)", over tables the port by which messages leave: "s1_0/5".
func (x wireText) String() string {
	if x.over != nil {
		return x.linkName(x.wire)
	}
	return wireName(&x.tree.Live, x.wire)
}

func wireName(t *topology.Live, w topology.Wire) string {
	link, direction := t.WireName(w)
	return fmt.Sprintf("%s (%s)", link, direction)
}

// needless reports a path inside a leaf, or where the routing leaves the path open.
func (j *judge) needless(i int32, src, dst seat) {
	m, why := &j.messages[i], "routing "+j.file.Routing+" leaves the spine open"
	if src.leaf == dst.leaf {
		why = fmt.Sprintf("both sit on leaf%d", src.leaf)
	}
	what, n := "spine", m.Spine
	if n == NoSpine {
		what, n = "top", m.Top
	}
	j.message(NeedlessSpine, i, "server%d to server%d names %s%d, but %s", m.Src, m.Dst, what, n, why)
}

// missing reports the ordered pairs that never met. It looks only for as many as are kept.
func (j *judge) missing() {
	s, never, found := j.Report.Servers, j.expected-j.pairs, 0
	if j.over != nil && j.over.Lost > 0 {
		if never != j.over.Lost {
			j.claim(MissingMessage, "%d messages are missing; the file states %d undelivered", never, j.over.Lost)
		}
		return
	}
	for at := 0; at < s*s && found < never && j.room(); at++ {
		src, dst := at/s, at%s
		if !j.meets(src, dst) || j.met[at>>6]&(1<<(at&63)) != 0 {
			continue
		}
		found++
		a, b := j.position(src), j.position(dst)
		j.Report.Offences = append(j.Report.Offences, Offence{MissingMessage, -1, a, b, -1, -1, fmt.Sprintf("server%d never sends to server%d", a, b)})
	}
	if never > 0 {
		j.accuse(MissingMessage, never)
	}
}

// meets reports whether a complete plan has a message from one rank to another.
func (j *judge) meets(src, dst int) bool {
	switch {
	case j.over != nil:
		return j.over.Meets(src, dst)
	case src == dst || !j.reads[src] || !j.builds[dst]:
		return false
	}
	return j.cut == nil || !j.left(j.tree.Leaf(src), j.tree.Leaf(dst))
}

func (j *judge) position(rank int) int {
	if j.over != nil {
		return rank
	}
	return j.tree.Position(rank)
}
