package plan

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/show"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	"evbench/topology"
)

// Read reads a plan file, packed with gzip or not, into the plan that wrote it. The objective, and
// weights of a bound that the file does not state, stay empty. Read accepts plans that verify finds
// valid, also with contention where the routing is pinned. Spines of other routings must match
// their tables, which x may make. Another plan than one of a tree in phases is ErrOther.
func Read(r io.Reader, x routing.Engines) (*Plan, error) { return ReadAtMost(r, math.MaxInt, x) }

// ReadAtMost is Read for at most so many messages. Reading takes up to 100 bytes for
// each; a small file can stand for many.
func ReadAtMost(r io.Reader, messages int, x routing.Engines) (*Plan, error) {
	memory := math.MaxInt
	if messages < memory/judge.MessageBytes {
		memory = messages * judge.MessageBytes
	}
	f, err := judge.ReadWithin(r, memory, x.Names()...)
	if err != nil {
		return nil, err
	}
	return Of(f, x)
}

// Of is Read of a file that has been read.
func Of(f *judge.File, x routing.Engines) (*Plan, error) {
	if f.Sized() || f.Tree == nil {
		return nil, ErrOther
	}
	if report := judge.Check(f, judge.Options{AllowContention: f.Routing != routing.Pinned, Bound: true, First: 1}); !report.Valid {
		return nil, notComplete(report.Offences[0].Text)
	}
	return restore(f, x)
}

// ErrOther says that a file holds a plan that is not of this package: of fragments of unequal size, or over given tables.
var ErrOther = errors.New("not a plan of a tree in phases, which is needed here; evbench verify takes all")

func notComplete(reason string) error {
	return fmt.Errorf("%s: not a complete plan; evbench verify lists all its errors", reason)
}

// isName reports whether a text may name a schedule: printable characters of ASCII without blanks.
func isName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

func restore(f *judge.File, x routing.Engines) (*Plan, error) {
	p := &Plan{Tree: f.Tree, Routing: f.Routing, Bound: boundOf(f), Unreachable: f.Tree.Severed(), Rates: f.Rates}
	stated := slices.SortedFunc(slices.Values(f.Unreachable), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	if all := f.Tree.Unreachable(); slices.Equal(stated, all) {
		p.Unreachable = all // 0.1.0 stated also those without a message
	}
	switch {
	case f.Schedule == "":
		return nil, errors.New("no schedule: a plan file names one, for example fors")
	case !isName(f.Schedule):
		return nil, fmt.Errorf("schedule %q is not a name", f.Schedule)
	case len(f.Messages) == 0:
		return nil, notComplete("no message")
	case !slices.Equal(stated, p.Unreachable):
		return nil, fmt.Errorf("unreachable: %s stated; the dead links leave %s without a path",
			show.OrNone(PairNames(stated)), show.OrNone(PairNames(p.Unreachable)))
	}
	ms := messagesOf(p, f)
	p.Schedule = scheduler.FromMessages(f.Schedule, p.Tree.Wires, p.Pinned(), ms)
	if err := p.route(x); err != nil {
		return nil, err
	}
	if err := p.follows(ms); err != nil {
		return nil, err
	}
	p.count()
	return p, nil
}

func messagesOf(p *Plan, f *judge.File) iter.Seq[scheduler.Message] {
	rank := make([]int, p.Tree.Leaves()*p.Tree.Ports())
	for r, at := range p.Tree.Positions() {
		rank[at] = r
	}
	return func(yield func(scheduler.Message) bool) {
		for _, m := range f.Messages {
			if !yield(scheduler.Message{Phase: int(m.Phase), Src: rank[m.Src], Dst: rank[m.Dst], Spine: int(m.Spine), Top: f.Top(&m)}) {
				return
			}
		}
	}
}

func boundOf(f *judge.File) scheduler.Bound {
	kind := strings.TrimRight(f.Bound.Kind, "0123456789")
	leaf, _ := strconv.Atoi(f.Bound.Kind[len(kind):]) // none of server and lp
	b := scheduler.Bound{Phases: int(f.Bound.Value), Kind: kind, At: leaf, Subset: f.Bound.Subset}
	if f.Bound.Weights == nil {
		return b
	}
	b.Weights = make([]int64, f.Tree.LinkWires())
	for _, w := range f.Bound.Weights {
		b.Weights[w.Wire] = w.Weight
	}
	return b
}

// follows compares the paths of messages that are not pinned with the tables.
func (p *Plan) follows(ms iter.Seq[scheduler.Message]) error {
	if p.Pinned() || !p.Static() {
		return nil
	}
	through := p.Through()
	for m := range ms {
		if spine, top := through(m.Src, m.Dst); m.Spine != spine || m.Top != top {
			return notComplete(fmt.Sprintf("phase %d: %s to %s over spine %s; routing %s gives %s", m.Phase,
				p.Tree.ServerName(m.Src), p.Tree.ServerName(m.Dst), PathText(p.Tree.Wires, m.Spine, m.Top), p.Routing, PathText(p.Tree.Wires, spine, top)))
		}
	}
	return nil
}

// PathText returns a path as files have it, "-" for none.
func PathText(t topology.Wires, spine, top int) string {
	if spine == scheduler.None {
		return "-"
	}
	return string(appendRest(strconv.AppendInt(nil, int64(spine), 10), t, spine, top))
}
