package judge_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/topology"
)

// A damage is one way to spoil a valid plan.
type damage struct {
	name string
	// on says which shapes can have it; shapes is how many of the 24 do.
	on     string
	shapes int
	// apply spoils the draft, or reports false when it cannot have the damage.
	apply func(d *draft) bool
	opt   judge.Options
	// want are the kinds that must be found, also those that may come with it.
	want, also []judge.Kind
}

var collisions = []judge.Kind{judge.SendsTwice, judge.ReceivesTwice, judge.Contention}

var damages = []damage{
	{name: "dropped line", on: "all", shapes: 24, apply: dropLine, want: kinds(judge.MissingMessage)},
	{name: "doubled line", on: "all", shapes: 24, apply: doubleLine, want: kinds(judge.RepeatedMessage), also: collisions},
	{name: "swapped destinations", on: "two messages of a phase that share no server: 4 servers", shapes: 20, apply: swapDestinations,
		want: kinds(judge.RepeatedMessage, judge.MissingMessage),
		also: kinds(judge.Contention, judge.NeedlessSpine, judge.MissingSpine, judge.DeadLink)},
	{name: "reversed message", on: "all", shapes: 24, apply: reverse, want: kinds(judge.RepeatedMessage, judge.MissingMessage), also: collisions},
	{name: "wrong phase, source busy", on: "an idle receiver: 3 servers", shapes: 22, apply: movePhase(true, false),
		want: kinds(judge.SendsTwice), also: kinds(judge.Contention, judge.WrongPhaseCount)},
	{name: "wrong phase, destination busy", on: "an idle sender: 3 servers", shapes: 22, apply: movePhase(false, true),
		want: kinds(judge.ReceivesTwice), also: kinds(judge.Contention, judge.WrongPhaseCount)},
	{name: "wrong phase, both busy", on: "two phases: 3 servers", shapes: 22, apply: movePhase(true, true),
		want: kinds(judge.SendsTwice, judge.ReceivesTwice), also: kinds(judge.Contention, judge.WrongPhaseCount)},
	{name: "moved onto a used spine", on: "two leaves and two spines", shapes: 16, apply: moveOntoUsed, want: kinds(judge.Contention)},
	{name: "dead link used", on: "two leaves and a dead link: two spines", shapes: 16, apply: useDead, want: kinds(judge.DeadLink), also: kinds(judge.Contention)},
	{name: "used link declared dead", on: "two leaves", shapes: 20, apply: declareDead, want: kinds(judge.DeadLink), also: kinds(judge.WeakBound)},
	{name: "spine out of range", on: "two leaves", shapes: 20, apply: spineOutOfRange, want: kinds(judge.NoSuchSpine)},
	{name: "absent destination", on: "all", shapes: 24, apply: absentServer, want: kinds(judge.UnknownServer, judge.MissingMessage)},
	{name: "fill states one server fewer", on: "3 servers", shapes: 22, apply: smallerFill, want: kinds(judge.UnknownServer),
		also: kinds(judge.WrongPhaseCount, judge.BelowBound)},
	{name: "self message", on: "all", shapes: 24, apply: selfMessage, want: kinds(judge.SelfMessage)},
	{name: "wrong hash", on: "all", shapes: 24, apply: wrongHash, want: kinds(judge.WrongHash)},
	{name: "hash of another dead set", on: "all", shapes: 24, apply: staleHash, want: kinds(judge.WrongHash), also: kinds(judge.WeakBound, judge.DeadLink)},
	{name: "wrong phase count", on: "all", shapes: 24, apply: func(d *draft) bool { d.phases++; return true }, want: kinds(judge.WrongPhaseCount)},
	{name: "missing spine", on: "two leaves", shapes: 20, apply: missingSpine, want: kinds(judge.MissingSpine)},
	{name: "spine inside a leaf", on: "two servers on a leaf", shapes: 20, apply: needlessSpine, want: kinds(judge.NeedlessSpine)},
	{name: "spines under routing none", on: "two leaves", shapes: 20, apply: spinesUnder("none"), want: kinds(judge.NeedlessSpine)},
	{name: "spines under ecmp", on: "two leaves", shapes: 20, apply: spinesUnder("ecmp"), want: kinds(judge.NeedlessSpine)},
	{name: "two spines in one table entry", on: "two leaves with two servers each", shapes: 16, apply: tableEntry,
		opt: judge.Options{AllowContention: true}, want: kinds(judge.Inconsistent)},
	{name: "empty phase", on: "all", shapes: 24, apply: emptyPhase, want: kinds(judge.PhaseGap)},
	{name: "bound above the phases", on: "all", shapes: 24, apply: boundAbove, want: kinds(judge.BelowBound)},
	{name: "bound below the server bound", on: "3 servers", shapes: 22, apply: boundWeak, want: kinds(judge.WeakBound)},
	{name: "bound without proof", on: "phases to spare: 3 servers", shapes: 22, apply: boundForged,
		opt: judge.Options{Bound: true}, want: kinds(judge.WrongBound)},
	{name: "bound by a leaf that is not there", on: "all", shapes: 24, apply: boundNoLeaf,
		opt: judge.Options{Bound: true}, want: kinds(judge.WrongBound)},
}

func kinds(ks ...judge.Kind) []judge.Kind { return ks }

// Every plan of the generator is valid, every single damage is caught with its
// reason and no wrong one, and was really tried on every shape that can have it.
func TestDamagedPlans(t *testing.T) {
	tried := map[string]int{}
	shapes(func(m0, m1 int) {
		plans := drafts(t, m0, m1)
		for _, d := range plans {
			r := judged(t, d.text(), judge.Options{Bound: true})
			expect.MustTrue(t, r.Valid && r.ContentionChecked && r.Duration == float64(d.phases),
				"FT(2;%d,%d) %s: valid plan of %d phases: %+v\n%s", m0, m1, d.kind, d.phases, r, d.text())
		}
		for _, dm := range damages {
			if dm.try(t, plans) {
				tried[dm.name]++
			}
		}
	})
	for _, dm := range damages {
		expect.Equal(t, tried[dm.name], dm.shapes, "%s (%s): tried on: shapes", dm.name, dm.on)
	}
}

// try reports whether at least one of the plans could have the damage.
func (dm damage) try(t *testing.T, plans []*draft) (tried bool) {
	t.Helper()
	for _, valid := range plans {
		d := valid.clone()
		if !dm.apply(d) {
			continue
		}
		tried = true
		dm.found(t, d, dm.also)
	}
	return tried
}

// found holds what the judge says of a damaged plan against the damage.
func (dm damage) found(t *testing.T, d *draft, also []judge.Kind) {
	t.Helper()
	r := judged(t, d.text(), dm.opt)
	found := slices.Collect(maps.Keys(r.Counts))
	missing := slices.DeleteFunc(slices.Clone(dm.want), func(k judge.Kind) bool { return slices.Contains(found, k) })
	wrong := slices.DeleteFunc(found, func(k judge.Kind) bool { return slices.Contains(dm.want, k) || slices.Contains(also, k) })
	expect.MustTrue(t, !r.Valid && len(missing) == 0 && len(wrong) == 0,
		"%s on %s %s: valid %v, not found %v, wrongly found %v\n%+v\n%s",
		dm.name, d.tree.Notation(), d.kind, r.Valid, missing, wrong, r.Offences, d.text())
}

// pick returns the first message, in a shuffled order, for which ok holds.
func (d *draft) pick(ok func(i int) bool) (i int, found bool) {
	for _, i := range d.shuffled(uint64(len(d.messages))) {
		if ok(i) {
			return i, true
		}
	}
	return 0, false
}

// between picks a message between leaves.
func (d *draft) between() (int, bool) {
	return d.pick(func(i int) bool { return !d.inside(d.messages[i]) })
}

// alone reports whether a message is the only one of its phase.
func (d *draft) alone(i int) bool {
	for n, m := range d.messages {
		if n != i && m[0] == d.messages[i][0] {
			return false
		}
	}
	return true
}

func dropLine(d *draft) bool {
	i, ok := d.pick(func(i int) bool { return !d.alone(i) })
	if ok {
		d.messages = slices.Delete(d.messages, i, i+1)
	}
	return ok
}

func doubleLine(d *draft) bool {
	i, _ := d.pick(func(int) bool { return true })
	d.messages = append(d.messages, d.messages[i])
	return true
}

func swapDestinations(d *draft) bool {
	for i, a := range d.messages {
		for j, b := range d.messages[:i] {
			if a[0] == b[0] && !d.isCut(d.leaf(a[1]), d.leaf(b[2])) && !d.isCut(d.leaf(b[1]), d.leaf(a[2])) && a[1] != b[2] && b[1] != a[2] {
				d.messages[i][2], d.messages[j][2] = b[2], a[2]
				return true
			}
		}
	}
	return false
}

func reverse(d *draft) bool {
	i, ok := d.pick(func(i int) bool { return !d.alone(i) })
	if ok {
		m := &d.messages[i]
		m[1], m[2] = m[2], m[1]
	}
	return ok
}

// movePhase moves a message to a phase in which its source, its destination or
// both are busy.
func movePhase(source, destination bool) func(d *draft) bool {
	return func(d *draft) bool {
		sends, receives := map[[2]int]bool{}, map[[2]int]bool{}
		for _, m := range d.messages {
			sends[[2]int{m[0], m[1]}], receives[[2]int{m[0], m[2]}] = true, true
		}
		for i, m := range d.messages {
			for p := range d.phases {
				// The last phase must not become empty: that is other damage.
				if p != m[0] && sends[[2]int{p, m[1]}] == source && receives[[2]int{p, m[2]}] == destination && !d.alone(i) {
					d.messages[i][0] = p
					return true
				}
			}
		}
		return false
	}
}

func moveOntoUsed(d *draft) bool {
	for i, m := range d.messages {
		for _, n := range d.messages {
			if m[0] != n[0] || d.inside(m) || d.inside(n) || m[3] == n[3] {
				continue
			}
			shared := d.leaf(m[1]) == d.leaf(n[1]) || d.leaf(m[2]) == d.leaf(n[2])
			if shared && d.tree.Alive(d.leaf(m[1]), n[3]) && d.tree.Alive(d.leaf(m[2]), n[3]) {
				d.messages[i][3] = n[3]
				return true
			}
		}
	}
	return false
}

func useDead(d *draft) bool {
	for _, l := range d.tree.Dead() {
		i, ok := d.pick(func(i int) bool {
			m := d.messages[i]
			return !d.inside(m) && (d.leaf(m[1]) == l.Leaf || d.leaf(m[2]) == l.Leaf)
		})
		if ok {
			d.messages[i][3] = l.Spine
			return true
		}
	}
	return false
}

func declareDead(d *draft) bool {
	i, ok := d.between()
	if ok {
		d.kill(topology.Link{Leaf: d.leaf(d.messages[i][2]), Spine: d.messages[i][3]})
	}
	return ok
}

func (d *draft) kill(l topology.Link) {
	v, err := d.tree.Without(l)
	if err != nil {
		panic(err)
	}
	d.tree = v
}

func spineOutOfRange(d *draft) bool {
	i, ok := d.between()
	if ok {
		d.messages[i][3] = d.tree.Spines()
	}
	return ok
}

// absentServer names the slot that a partial fill leaves empty, or the position
// after the last.
func absentServer(d *draft) bool {
	i, ok := d.pick(func(i int) bool { return !d.alone(i) })
	position := d.tree.Ports()*d.tree.Leaves() - 1
	if _, present := d.tree.Rank(position); present {
		position++
	}
	if ok {
		d.messages[i][2] = position
	}
	return ok
}

func smallerFill(d *draft) bool {
	fill := d.tree.Fill()
	last := len(fill) - 1
	if fill[last] == 0 || d.tree.Servers() < 3 {
		return false
	}
	fill[last]--
	smaller, err := topology.New(topology.Options{Ports: d.tree.Ports(), Leaves: d.tree.Leaves(), Spines: d.tree.Spines(), Fill: fill})
	if err != nil {
		panic(err)
	}
	if d.tree, err = smaller.Without(d.tree.Dead()...); err != nil {
		panic(err)
	}
	return true
}

func selfMessage(d *draft) bool {
	d.messages = append(d.messages, [5]int{0, 0, 0, -1, -1})
	return true
}

func wrongHash(d *draft) bool {
	h := []byte(d.stated())
	h[len(h)-1] ^= 1 // another hexadecimal digit or a neighbour of one
	d.hash = string(h)
	return true
}

// staleHash changes the dead links and leaves the hash.
func staleHash(d *draft) bool {
	d.hash = d.stated()
	live := d.tree.AliveSpines(0)
	d.kill(topology.Link{Leaf: 0, Spine: live[len(live)-1]})
	return true
}

func missingSpine(d *draft) bool {
	i, ok := d.between()
	if ok {
		d.messages[i][3] = -1
	}
	return ok
}

func needlessSpine(d *draft) bool {
	i, ok := d.pick(func(i int) bool { return d.inside(d.messages[i]) })
	if ok {
		d.messages[i][3] = 0
	}
	return ok
}

func spinesUnder(routing string) func(d *draft) bool {
	return func(d *draft) bool {
		d.routing = routing
		_, ok := d.between()
		return ok
	}
}

// tableEntry takes the linear shift for what it is, ftree routing, and sends
// one message of a leaf to a destination another way than its neighbour's.
func tableEntry(d *draft) bool {
	d.routing = "ftree"
	i, ok := d.between()
	if !ok || d.kind != "shift" || d.tree.Ports() < 2 {
		return false
	}
	d.messages[i][3] = (d.messages[i][3] + 1) % d.tree.Spines()
	return true
}

func emptyPhase(d *draft) bool {
	last := d.messages[len(d.messages)-1][0]
	for _, m := range d.messages {
		last = max(last, m[0])
	}
	for i := range d.messages {
		if d.messages[i][0] == last {
			d.messages[i][0]++
		}
	}
	return true
}

func boundAbove(d *draft) bool {
	d.bound = fmt.Sprintf("%d server", d.phases+1)
	return true
}

func boundWeak(d *draft) bool {
	d.bound = fmt.Sprintf("%d server", d.tree.Servers()-2)
	return d.tree.Servers() > 2
}

// boundForged states the phases of a plan that is not the best as its bound.
func boundForged(d *draft) bool {
	n, kind := 0, ""
	fmt.Sscan(d.bound, &n, &kind)
	d.bound = fmt.Sprintf("%d %s", d.phases, kind)
	return d.phases > n
}

func boundNoLeaf(d *draft) bool {
	n, kind := 0, ""
	fmt.Sscan(d.bound, &n, &kind)
	d.bound = fmt.Sprintf("%d leaf%d", n, d.tree.Leaves())
	return true
}
