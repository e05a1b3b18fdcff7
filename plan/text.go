package plan

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	"evbench/topology"
)

// WriteText writes the plan file: header lines, then one line "phase src dst spine" per message,
// servers by position, sorted by phase and src. The spine column of a message between pods is
// "plane.top", with parallel cables "spine.up.down". A plan without a schedule has no file.
func (p *Plan) WriteText(w io.Writer) error {
	switch {
	case p.Schedule == nil:
		return errors.New("a plan without a schedule has no text form")
	case p.Over != nil:
		return p.Over.WriteText(w)
	}
	return p.writeText(w, p.Proof())
}

func (p *Plan) writeText(w io.Writer, proof string) error {
	others := ""
	if len(p.Unreachable) > 0 {
		others = fmt.Sprintf("# unreachable %s\n", strings.Join(PairNames(p.Unreachable), ","))
	}
	others += fmt.Sprintf("# schedule %s\n# routing %s\n# phases %d\n", p.Schedule.Name, p.Routing, p.Phases())
	if p.Bound.Phases > 0 {
		others += fmt.Sprintf("# bound %d %s\n", p.Bound.Phases, proof)
	}
	return Text{p.NameLines(), p.Tree.Words().Lines(), others, p.body().write}.WriteText(w)
}

// NameLines returns the lines with the network's names of the switches, the ports of parallel cables, and
// the hosts; "" without any.
func (p *Plan) NameLines() string {
	var b strings.Builder
	n, own := p.Tree.Names(), p.Tree.Named(nil)
	ports := n != nil && n.Ports != nil && own.Cables() > 1
	for sw := 0; (p.Tree.Renamed() || ports) && sw < len(n.Switches); sw++ {
		fmt.Fprintf(&b, "# %s %s %s\n", judge.SwitchKey, own.SwitchName(sw), n.Switches[sw])
	}
	for id := 0; ports && id < len(n.Ports); id++ {
		if port := n.Ports[id]; port[0] > 0 {
			fmt.Fprintf(&b, "# %s %s %d %d\n", judge.CableKey, own.LinkName(own.LinkOf(id)), port[0], port[1])
		}
	}
	for _, h := range p.Rates.Hosts {
		fmt.Fprintf(&b, "# %s server%d %.9g\n", judge.SlowKey, p.Tree.Position(h.Rank), h.Share)
	}
	for _, x := range p.Rates.Slow {
		fmt.Fprintf(&b, "# %s %s %.9g\n", judge.SlowKey, own.LinkName(x.Link), x.Share)
	}
	return b.String() + HostLines(p.Hosts, p.Tree.Position)
}

// HostLines are the lines that name hosts, by rank, which have positions in a plan.
func HostLines(hosts []Host, position func(rank int) int) (text string) {
	order := lists.Range[int](len(hosts))
	slices.SortStableFunc(order, func(a, b int) int { return hosts[a].Order - hosts[b].Order })
	for _, r := range order {
		h := hosts[r]
		text += strings.TrimSpace(fmt.Sprintf("# %s %d %s %d %s", judge.HostKey, position(r), h.Name, h.Ranks, h.Adapter)) + "\n"
	}
	return text
}

// Proof names what proves the lower bound: "server", "leaf3", "hall3 leaf1,leaf4", "pod1", "lp".
func (p *Plan) Proof() string {
	proof := p.Bound.String()
	if p.Bound.Kind == scheduler.KindHall {
		proof += " " + strings.Join(LeafNames(p.Bound.Subset), ",")
	}
	return proof
}

// WeightNames returns the weights of an LP witness, "leaf0-spine1/up=3", by wire.
func WeightNames(t *topology.Tree, weights []int64) (out []string) {
	t = t.Named(nil)
	for w, n := range weights {
		if n > 0 {
			link, direction := t.WireName(topology.Wire(w))
			out = append(out, fmt.Sprintf("%s/%s=%d", link, direction, n))
		}
	}
	return out
}

func LeafNames(leaves []int) []string {
	return lists.Map(leaves, func(l int) string { return fmt.Sprintf("leaf%d", l) })
}

// Hash names the plan: "sha256:" and the digest of its fabric lines and its canonical body. Plans
// without a schedule are named by their fabric and routing.
func (p *Plan) Hash() string {
	if p.Over != nil {
		return p.Over.Hash()
	}
	rows := (&body{plan: p}).write
	if p.Schedule == nil {
		rows = func(w io.Writer) error {
			_, err := io.WriteString(w, "# routing "+p.Routing+"\n")
			return err
		}
	}
	return Text{Covered: p.Tree.Words().Lines(), Rows: rows}.Hash()
}

// A Text is a plan as a file: lines of names, header lines that the hash covers (judge.Covered) and others, and the rows.
type Text struct {
	Names, Covered, Others string
	Rows                   func(io.Writer) error
}

// Hash names a plan: "sha256:" and the digest of what it covers.
func (t Text) Hash() string {
	h := sha256.New()
	io.WriteString(h, t.Covered)
	if err := t.Rows(h); err != nil {
		panic("plan: a digest refuses bytes: " + err.Error())
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// WriteText writes the file.
func (t Text) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n%s%s%s# hash %s\n", judge.First, t.Names, t.Covered, t.Others, t.Hash()); err != nil {
		return err
	}
	return t.Rows(w)
}

// A body is the lines of the messages. A plan of moderate size keeps them, as the hash stands
// before them and would need a second writing. The lines of 4,096 servers would need 300 MB.
type body struct {
	plan *Plan
	keep bool
	text bytes.Buffer // the kept lines, once written
}

// kept is the number of servers up to which the lines are kept: 15 MB.
const kept = 1000

func (p *Plan) body() *body { return &body{plan: p, keep: p.Tree.Servers() <= kept} }

// block is about how many bytes are written at once.
const block = 1 << 15

func (b *body) write(w io.Writer) error {
	if b.text.Len() > 0 {
		_, err := w.Write(b.text.Bytes())
		return err
	}
	if n := b.plan.Tree.Servers(); b.keep {
		b.text.Grow(n*(n-1)*16 + block)
		w = io.MultiWriter(&b.text, w)
	}
	return InBlocks(w, b.plan.Schedule.All(), b.plan.line())
}

// InBlocks writes what add appends for each item, which is shorter than 128 bytes, many at once.
func InBlocks[T any](w io.Writer, items iter.Seq[T], add func(b []byte, item T) []byte) error {
	buf := make([]byte, 0, block+128)
	for x := range items {
		if buf = add(buf, x); len(buf) >= block {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	_, err := w.Write(buf)
	return err
}

// line returns a function that appends the line of a message.
func (p *Plan) line() func(b []byte, m scheduler.Message) []byte {
	through := p.Through()
	pinned := p.Pinned()
	phase := lists.Tabulate(p.Phases(), newDecimal)
	at := lists.Tabulate(p.Tree.Servers(), func(r int) decimal { return newDecimal(p.Tree.Position(r)) })
	for i := range at {
		at[i].add(' ')
	}
	for i := range phase {
		phase[i].add(' ')
	}
	k, plain := lists.Tabulate(p.Tree.Spines(), newDecimal), p.Tree.Plain()
	return func(b []byte, m scheduler.Message) []byte {
		b = phase[m.Phase].append(b)
		b = at[m.Src].append(b)
		b = at[m.Dst].append(b)
		s, top := m.Spine, m.Top
		if !pinned {
			s, top = through(m.Src, m.Dst)
		}
		if s == scheduler.None {
			b = append(b, '-')
		} else if b = k[s].append(b); !plain {
			b = appendRest(b, p.Tree.Wires, s, top)
		}
		return append(b, '\n')
	}
}

// AppendPath appends a path between two leaves as files of text have it.
func AppendPath(b []byte, t topology.Wires, from, to, path int) []byte {
	spine, top := t.Through(from, to, path)
	return appendRest(strconv.AppendInt(b, int64(spine), 10), t, spine, top)
}

// appendRest appends what of a path follows its spine: nothing, a top switch or two cables.
func appendRest(b []byte, t topology.Wires, spine, top int) []byte {
	n, columns := t.Columns(spine, top)
	for _, x := range n[1:columns] {
		if x >= 0 {
			b = strconv.AppendInt(append(b, '.'), int64(x), 10)
		}
	}
	return b
}

// A decimal is a short number as text. Formatting the numbers of each message anew would take most
// of the time of writing a plan.
type decimal struct {
	digits [15]byte
	n      uint8
}

func newDecimal(n int) decimal {
	var d decimal
	d.n = uint8(len(strconv.AppendInt(d.digits[:0], int64(n), 10)))
	return d
}

func (d *decimal) add(c byte) {
	d.digits[d.n] = c
	d.n++
}

// append appends all bytes in a few moves, then cuts off the unused rest.
func (d *decimal) append(b []byte) []byte {
	return append(b, d.digits[:]...)[:len(b)+int(d.n)]
}
