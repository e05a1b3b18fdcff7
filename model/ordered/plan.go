// Package ordered makes, keeps and describes the plans of mode ordered: windows of exchanges of
// unequal sizes, in which each fragment has a moment of its own and there are no phases. It plans
// such cases for package bench, at which it registers itself, and converts plans for workers. The
// mathematics is in scheduler/list. Times are byte times, of a link.
package ordered

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/plan/promise"
	"evbench/scheduler"
	"evbench/scheduler/list"
	"evbench/scheduler/order"
	"evbench/topology"
)

// A Plan says when each fragment of a window of exchanges of unequal sizes starts.
type Plan struct {
	*list.Plan
	Hosts []plan.Host // by rank, nil where they have no names
}

// WriteText writes the plan file: the header, and a line "start src dst spine|- bytes" for each
// piece, with the spine as in plans in phases, servers by position, sorted by start and src. Times are
// byte times. A piece that does not start at the first byte of its fragment has a sixth column, the
// offset of its first byte. Pieces of the second exchange and later have the offset and a seventh
// column, the exchange. The header of more than one exchange says "window".
func (p *Plan) WriteText(w io.Writer) error { return p.text().WriteText(w) }

// Hash names the plan.
func (p *Plan) Hash() string { return p.text().Hash() }

func (p *Plan) text() plan.Text {
	of, window := &plan.Plan{Tree: p.Tree, Hosts: p.Hosts}, ""
	if n := len(p.Window); n > 1 {
		window = fmt.Sprintf("# window %d\n", n)
	}
	return plan.Text{
		Names:   of.NameLines(),
		Covered: p.Tree.Words().Lines() + window + fmt.Sprintf("# sizes %s\n", list.Hash(p.Tree.Shape, p.Window...)),
		Others:  fmt.Sprintf("# schedule %s\n# routing pinned\n# time %d\n# bound %d %s\n", p.Order, p.Time, p.Bound.Phases, p.Witness()),
		Rows:    p.rows,
	}
}

func (p *Plan) rows(w io.Writer) error {
	leaf := p.Tree.LeafOfRanks()
	return plan.InBlocks(w, p.Pieces(), func(buf []byte, x list.Piece) []byte {
		number := func(n int64) { buf = strconv.AppendInt(append(buf, ' '), n, 10) }
		buf = strconv.AppendInt(buf, x.Start, 10)
		number(int64(p.Tree.Position(x.Src)))
		number(int64(p.Tree.Position(x.Dst)))
		if buf = append(buf, ' '); x.Path == scheduler.None {
			buf = append(buf, '-')
		} else {
			buf = plan.AppendPath(buf, p.Tree.Wires, leaf[x.Src], leaf[x.Dst], x.Path)
		}
		if number(x.Bytes); x.Offset > 0 || x.Exchange > 0 {
			number(x.Offset)
		}
		if x.Exchange > 0 {
			number(int64(x.Exchange))
		}
		return append(buf, '\n')
	})
}

// Witness names the proof of the bound: "send server3", "receive server0", "up leaf1", "down
// leaf1", or "lp" and the nonzero weight of each link, "lp leaf0-spine1/up=3,leaf2-spine1/down=5".
func (p *Plan) Witness() string {
	switch b := p.Bound; b.Kind {
	case scheduler.KindSend, scheduler.KindReceive:
		return b.Kind + " " + p.Tree.ServerName(b.At)
	case scheduler.KindUp, scheduler.KindDown:
		return fmt.Sprintf("%s leaf%d", b.Kind, b.At)
	}
	return p.Bound.Kind + " " + strings.Join(plan.WeightNames(p.Tree, p.Bound.Weights), ",")
}

// Promise is what the exchange takes in the order of the plan, also over slow links, and what no plan takes less than: the bound of
// the tree, which is not known where links count as dead that are not, or cables carry several fragments at once.
func (p *Plan) Promise(slow promise.Slow, takes float64) promise.Promise {
	out := promise.Promise{Kind: promise.Any, Takes: max(float64(p.Time), takes), Least: float64(p.Bound.Phases), Slow: slow}
	if slow.Faster || len(slow.Avoids) > 0 {
		out.Least = 0
	}
	return out
}

// Answer says how long the exchange takes.
func (p *Plan) Answer(m promise.Promise) answer.Answer {
	takes := fmt.Sprintf("The exchange takes %s byte times in the order of the plan", show.Commas(int(m.Takes)))
	return answer.Decide(plan.Asks(&p.Tree.Live), answer.Evidence{Findings: []answer.Finding{m.Finding(takes, "")}})
}

// Slow is list.MakeWindow for a tree with slow cables: links that cost more than they carry count as dead. It returns what the plan
// does with them, and how long it takes over them.
func Slow(t *topology.Tree, window []*list.Matrix, o list.Options, r topology.Rates) (*list.Plan, promise.Slow, float64, error) {
	p, about, err := order.Around(t, r.Slow, func(t *topology.Tree) (*list.Plan, float64, error) {
		p, err := list.MakeWindow(t, window, o)
		if err != nil {
			return nil, 0, err
		}
		return p, p.TimeOver(r.Slow), nil
	})
	if err != nil {
		return nil, promise.Slow{}, 0, err
	}
	return p, promise.SlowOf(&t.Live, r, about.Uses, about.Avoids, about.Other, "byte times"), about.Time, nil
}

// Describe prints what the plan promises.
func (p *Plan) Describe(w io.Writer, m promise.Promise) {
	sum, parts, exchanges := int64(0), 0, ""
	for _, m := range p.Window {
		sum += m.Sum()
	}
	for x := range p.Pieces() {
		if x.Offset > 0 {
			parts++
		}
	}
	text := show.Commas(p.Len()-parts) + " fragments"
	if parts > 0 {
		text += fmt.Sprintf(" in %s pieces", show.Commas(p.Len()))
	}
	if n := len(p.Window); n > 1 {
		exchanges = fmt.Sprintf(", %d exchanges,", n)
	}
	fmt.Fprintf(w, "%s, %d servers, %s dead, schedule %s, %s%s of %s bytes\n",
		p.Tree.Notation(), p.Tree.Servers(), p.Tree.DeadText(), p.Order, text, exchanges, show.Commas(int(sum)))
	fmt.Fprintf(w, "time T %s byte times", show.Commas(int(m.Takes)))
	if m.Least > 0 {
		proof := p.Bound.Kind
		if proof != scheduler.KindLP {
			proof = p.Witness()
		}
		fmt.Fprintf(w, ", bound T* %s (%s), T*/T %.4f", show.Commas(int(m.Least)), proof, m.Least/m.Takes)
	}
	if m.Attained() {
		fmt.Fprint(w, ", optimal")
	}
	fmt.Fprintln(w)
	m.Describe(w)
}
