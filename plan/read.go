package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/routing/twolevel"
	"evbench/scheduler"
	"evbench/topology"
)

// maxRead is the most servers of a plan that is read: its table of pairs takes
// 4 bytes each.
const maxRead = 16384

// A draft is what a file says, before it is put together.
type draft struct {
	topology    string
	fill        []int // nil: every leaf full
	spines      *int
	down        []string
	unreachable []string
	schedule    string
	objective   scheduler.Objective
	routing     string // "": pinned
	phases      *int
	bound       *bound
	moved       int
	hash        string
	messages    []scheduler.Message // servers by position
	room, most  int                 // messages that may be held: in all, and of the stated fabric

	at   func(key string) string // the place of a key in the file, for errors
	line func(i int) string      // that of a message
}

func (d *draft) wrong(key, format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{d.at(key)}, args...)...)
}

// judgeIt ends the errors about messages.
const judgeIt = "not a complete plan; evbench verify says all that is wrong with it"

func (d *draft) offence(i int, reason string) error {
	return fmt.Errorf("%s: %s: %s", d.line(i), reason, judgeIt)
}

// plan puts the plan together.
func (d *draft) plan() (*Plan, error) {
	p := &Plan{Objective: d.objective, Routing: d.routing}
	if p.Routing == "" {
		p.Routing = twolevel.Pinned
	}
	for _, step := range []func(*Plan) error{d.tree, d.unreached, d.engine, d.place, d.scheduled, d.tables, d.lower, d.digest} {
		if err := step(p); err != nil {
			return nil, err
		}
	}
	p.count()
	return p, nil
}

// tree builds the fabric key by key, so that an error names the right one.
func (d *draft) tree(p *Plan) error {
	if d.topology == "" {
		return errors.New("no topology: a plan file states one, for example FT(2;4,8)")
	}
	o, err := topology.Parse(d.topology)
	if err == nil {
		err = d.grow(p, o)
	}
	if err != nil {
		return d.wrong("topology", "%w", err)
	}
	if d.spines != nil {
		if o.Spines = *d.spines; o.Spines < 1 {
			return d.wrong("spines", "%d spines: must be at least 1", o.Spines)
		}
		if err := d.grow(p, o); err != nil {
			return d.wrong("spines", "%w", err)
		}
	}
	if o.Fill = d.fill; o.Fill != nil {
		if err := d.grow(p, o); err != nil {
			return d.wrong("fill", "%w", err)
		}
	}
	if n := p.Tree.Servers(); n > maxRead {
		return d.wrong("topology", "%d servers: plans of at most %d are read", n, maxRead)
	}
	return d.without(p)
}

// grow makes the healthy tree.
func (d *draft) grow(p *Plan, o topology.Options) (err error) {
	if p.Tree, err = topology.Make(o); err == nil {
		p.Pods = p.Tree.Pods()
	}
	return err
}

func (d *draft) without(p *Plan) error {
	var dead []topology.Link
	for _, name := range d.down {
		links, err := p.Tree.Links(name)
		if err != nil {
			return d.wrong("down", "%w", err)
		}
		dead = append(dead, links...)
	}
	var err error
	if p.Tree, err = p.Tree.Without(dead...); err == nil {
		p.Pods, p.Unreachable = p.Tree.Pods(), p.Tree.Unreachable()
	}
	return err
}

// unreached holds the stated pairs without a path against those of the tree.
func (d *draft) unreached(p *Plan) error {
	want := pairNames(p.Unreachable)
	if slices.Equal(d.unreachable, want) {
		return nil
	}
	if d.unreachable == nil {
		return d.wrong("down", "%s share no live path, and no line says that their messages are left out", want[0])
	}
	return d.wrong("unreachable", "%s stated; the dead links leave %s without a path",
		strings.Join(d.unreachable, ","), orNone(want))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

var nameRE = regexp.MustCompile(`^[!-~]{1,100}$`)

// engine checks the names of schedule and routing.
func (d *draft) engine(p *Plan) error {
	if d.schedule == "" {
		return errors.New("no schedule: a plan file names one, for example fors")
	}
	if !nameRE.MatchString(d.schedule) {
		return d.wrong("schedule", "%q is not a name", shorten(d.schedule))
	}
	if known := Routings(); !slices.Contains(known, p.Routing) {
		return d.wrong("routing", "no routing %q; there are %s", p.Routing, strings.Join(known, ", "))
	}
	return nil
}

// place turns positions into ranks.
func (d *draft) place(p *Plan) error {
	if len(d.messages) == 0 {
		return errors.New("no message: " + judgeIt)
	}
	if p.Pods == nil {
		for i, m := range d.messages {
			if m.Top != scheduler.None {
				return d.offence(i, "a top switch in a tree of two levels")
			}
		}
	}
	rank := make([]int, p.Tree.Leaves()*p.Tree.Ports())
	for i := range rank {
		rank[i] = -1
	}
	for r := range p.Tree.Servers() {
		rank[p.Tree.Position(r)] = r
	}
	for i := range d.messages {
		m := &d.messages[i]
		for _, end := range []*int{&m.Src, &m.Dst} {
			if *end >= len(rank) || rank[*end] < 0 {
				return d.offence(i, fmt.Sprintf("no server%d in this fabric", *end))
			}
			*end = rank[*end]
		}
	}
	return nil
}

// scheduled makes the schedule of the messages. Spines that are not the
// schedule's own stay out of it.
func (d *draft) scheduled(p *Plan) error {
	ms := d.messages
	if !p.Pinned() {
		ms = slices.Clone(ms)
		for i := range ms {
			ms[i].Spine, ms[i].Top = scheduler.None, scheduler.None
		}
	}
	s, err := scheduler.FromMessages(d.schedule, p.Tree, p.Pods, ms)
	if wrong, ok := errors.AsType[*scheduler.MessageError](err); ok {
		if wrong.Index >= 0 {
			return d.offence(wrong.Index, wrong.Reason)
		}
		return fmt.Errorf("%s: %s", wrong.Reason, judgeIt)
	} else if err != nil {
		return err
	}
	if p.Pinned() && !s.Pinned {
		return d.wrong("routing", "pinned, but messages between leaves have no spine")
	}
	if d.phases != nil && *d.phases != s.Phases {
		return d.wrong("phases", "%d phases stated; there are %d: %s", *d.phases, s.Phases, judgeIt)
	}
	s.Moved = d.moved
	p.Schedule = s
	return nil
}

// tables computes the tables, and holds the paths of the file against them.
func (d *draft) tables(p *Plan) error {
	if err := p.route(); err != nil {
		return err
	}
	if p.Pinned() {
		return nil
	}
	through := func(_, _ int) (spine, top int) { return scheduler.None, scheduler.None }
	if p.static() {
		through = p.through()
	}
	for i, m := range d.messages {
		if spine, top := through(m.Src, m.Dst); m.Spine != spine || m.Top != top {
			return d.offence(i, fmt.Sprintf("spine %s; routing %s gives %s", pathText(m.Spine, m.Top), p.Routing, pathText(spine, top)))
		}
	}
	return nil
}

// pathText is a path as a plan file names it.
func pathText(spine, top int) string {
	switch {
	case spine == scheduler.None:
		return "-"
	case top == scheduler.None:
		return strconv.Itoa(spine)
	}
	return fmt.Sprintf("%d.%d", spine, top)
}

var proofRE = regexp.MustCompile(`^(?:(server|lp)|(leaf|hall|pod)(\d{1,6}))$`)

// lower reads the bound. That its witness proves it is for the judge to say.
func (d *draft) lower(p *Plan) error {
	if d.bound == nil {
		return nil
	}
	b := scheduler.Bound{Phases: d.bound.Phases}
	if b.Phases < 1 {
		return d.wrong("bound", "a bound of %d phases: must be at least 1", b.Phases)
	}
	m := proofRE.FindStringSubmatch(d.bound.Kind)
	if m == nil {
		return d.wrong("bound", "no witness %q; there are server, lp, and leaf, hall or pod with a number", d.bound.Kind)
	}
	if b.Kind = m[1] + m[2]; m[3] != "" {
		b.Leaf, _ = strconv.Atoi(m[3])
	}
	switch limit := p.Tree.Leaves(); {
	case b.Kind == scheduler.KindPod && p.Pods == nil:
		return d.wrong("bound", "there are no pods")
	case b.Kind == scheduler.KindPod && b.Leaf >= p.Pods.Pods(), b.Leaf >= limit:
		return d.wrong("bound", "there is no %s", d.bound.Kind)
	}
	var err error
	if b.Subset, err = d.subset(b.Kind, p.Tree.Leaves()); err != nil {
		return d.wrong("bound", "%w", err)
	}
	if b.Weights, err = d.weights(p); err != nil {
		return d.wrong("bound", "%w", err)
	}
	p.Bound = b
	return nil
}

// subset reads the leaves of a Hall witness.
func (d *draft) subset(kind string, limit int) ([]int, error) {
	if hall := kind == scheduler.KindHall; hall != (len(d.bound.Subset) > 0) {
		return nil, fmt.Errorf("witness %s with %d leaves: hall has some, others none", d.bound.Kind, len(d.bound.Subset))
	}
	var out []int
	for _, name := range d.bound.Subset {
		digits, ok := strings.CutPrefix(name, "leaf")
		l, err := strconv.Atoi(digits)
		if !ok || err != nil || l < 0 || l >= limit || len(out) > 0 && l <= out[len(out)-1] {
			return nil, fmt.Errorf("%q in the set of leaves: there are leaf0..leaf%d, each once and rising", name, limit-1)
		}
		out = append(out, l)
	}
	return out, nil
}

// weights reads those of an LP witness, by wire.
func (d *draft) weights(p *Plan) ([]int64, error) {
	if len(d.bound.Weights) == 0 {
		return nil, nil
	}
	n := 2 * p.Tree.Leaves() * p.Tree.Spines()
	if p.Pods != nil {
		n = p.Pods.Wires()
	}
	out := make([]int64, n)
	for i, w := range d.bound.Weights {
		wire, err := p.wire(w.Link, w.Direction)
		switch {
		case err != nil:
			return nil, fmt.Errorf("weights[%d]: %w", i, err)
		case w.Weight < 1 || out[wire] != 0:
			return nil, fmt.Errorf("weights[%d]: %s %s: each link and direction once, with a weight of at least 1", i, w.Link, w.Direction)
		}
		out[wire] = w.Weight
	}
	return out, nil
}

// digest holds the stated hash against that of the plan.
func (d *draft) digest(p *Plan) error {
	if d.hash == "" {
		return nil
	}
	if h := p.Hash(); h != d.hash {
		return d.wrong("hash", "%s stated; the plan has %s: %s", d.hash, h, judgeIt)
	}
	return nil
}
