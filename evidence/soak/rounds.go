package main

import (
	"slices"
	"time"

	"evbench/internal/lists"
)

const (
	// enough is how many link events the long round has.
	enough = 1000
	// calm is the time between the return of the last link and the end of a case.
	calm = 3 * time.Second
	// first is the time of the first failure.
	first = time.Second
)

// A Plan determines the rounds. A round depends only on the seed, the length of the whole soak and
// the number of the round.
type Plan struct {
	Seed   uint64
	Length time.Duration
}

// Round returns the script of a round, from 1. The first is the long one; shuffled decks of all
// kinds follow.
func (p Plan) Round(n int) *Script {
	s := &Script{Seed: p.Seed, Round: n, Kind: p.kind(n)}
	d := newDice(p.Seed, n)
	s.Kind.rule().draw(p, d, s)
	// With dice of its own: the rest of a round is the same as before the mode existed.
	s.Ordered = s.mayBeOrdered() && newDice(p.Seed^orderedDice, n).once(2)
	return s
}

const (
	orderedDice = 1 << 63
	controlDice = 1 << 62
)

// mayBeOrdered reports whether the reaction to dead links suits the mode, and servers have an
// address for each spine.
func (s *Script) mayBeOrdered() bool {
	return !s.Hosts && s.Kind != Clock && (s.Policy == "" || s.Policy == "fors" || s.Policy == "fors+hold")
}

// Next returns the first round from n on of a wanted kind, 0 if there is none.
func (p Plan) Next(n int, wanted func(Kind) bool) int {
	for end := n + 2*len(kinds); n < end; n++ {
		if wanted(p.kind(n)) {
			return n
		}
	}
	return 0
}

// kinds is a deck in order.
var kinds = [...]Kind{
	Links, KillWorker, Links, Delay, Links, KillController, Wait, Cut, End, Stall, Links, KillWorker,
	Pause, Outside, Strangers, Wait, Severed, Outside, Pause, Clock, Clock,
}

func (p Plan) kind(n int) Kind {
	if n <= 1 {
		return Long
	}
	deck := kinds
	number, at := (n-2)/len(deck), (n-2)%len(deck)
	newDice(p.Seed, -1-number).Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck[at]
}

// duration is the length of the measured part of a round of links.
func (p Plan) duration(k Kind) time.Duration {
	if k == Long {
		return max(8*time.Second, p.Length*2/5).Truncate(time.Second)
	}
	return min(30*time.Second, max(6*time.Second, p.Length/6)).Truncate(time.Second)
}

func (p Plan) links(d dice, s *Script) {
	s.Duration = p.duration(s.Kind)
	s.tree(d)
	window := s.Duration - first - calm
	want := min(100, int(window.Seconds()*8))
	if s.Kind == Long {
		want = min(enough, int(window.Seconds()*25))
		s.Notation, s.Fill = "FT(2;4,4)", nil
		s.policy(d, "unsync", "fors", "fors+hold")
	} else {
		s.policy(d, "minhop", "spread", "unsync", "fors", "fors+hold")
		s.Payload = d.once(3)
		s.unrest(d)
	}
	s.wait = s.Kind == Wait || s.Kind != End && s.Hogs > 0
	g := newGenerator(d, s)
	g.fill(want)
	s.failures = g.done()
}

func (s *Script) tree(d dice) {
	s.Notation = "FT(2;4,4)"
	if d.once(3) {
		s.Notation, s.Fill = "FT(2;2,4)", pick(d, nil, []int{2, 1, 2, 1}, []int{1, 2, 2, 2})
	}
}

func (s *Script) policy(d dice, among ...string) {
	if s.Policy = pick(d, among...); s.Policy == "fors+hold" {
		s.Hold = d.between(100*time.Millisecond, 500*time.Millisecond)
	}
}

// unrest is the other disturbances of the machine while links fail.
func (s *Script) unrest(d dice) {
	if d.once(3) {
		s.Hogs = 1 + d.IntN(3)
	}
	if !d.once(3) {
		return
	}
	for at := first; at < s.Duration-calm; {
		stop := Stop{At: at + d.between(0, 3*time.Second), For: d.between(100*time.Millisecond, time.Second)}
		if at = stop.At + stop.For + time.Second; at < s.Duration-calm {
			s.Stops = append(s.Stops, stop)
		}
	}
}

// small is the tree of rounds whose servers are processes.
func (s *Script) small(d dice) int {
	s.Notation = pick(d, "FT(2;2,4)", "FT(2;4,2)")
	const servers = 8
	s.Victim = d.IntN(servers)
	return servers
}

func (Plan) control(d dice, s *Script) {
	n := s.small(d)
	s.Hosts, s.Duration = true, 4*time.Second
	s.At, s.Reset = d.between(0, 2500*time.Millisecond), d.once(2)
	// With dice of their own: the rest of a round is the same as before they existed.
	own := newDice(s.Seed^controlDice, s.Round)
	if s.Kind == Stall {
		s.Silent = pick(own, both, up, down)
	}
	if s.Kind != Delay {
		return
	}
	s.Loss = pick(own, 0, 0.02, 0.1)
	s.Delays = lists.Tabulate(n, func(i int) time.Duration { return d.between(0, pick(d, 0, 50*time.Millisecond)) })
	for range pick(d, 1, 1, 3) {
		s.Delays[d.IntN(n)] = d.between(100*time.Millisecond, time.Second)
	}
}

// kill is at a random moment: during the start, during event building, or a few milliseconds after
// a link failure.
func (Plan) kill(d dice, s *Script) {
	s.small(d)
	s.Hosts, s.Early, s.Apart = d.once(2), d.once(4), true
	s.Duration = time.Hour // the run ends much earlier
	s.At = d.between(0, 2*time.Second)
	if s.Early {
		s.At = d.between(0, 500*time.Millisecond)
	}
	if s.Hosts {
		return
	}
	s.policy(d, "minhop", "unsync", "fors", "fors+hold")
	dies := d.between(500*time.Millisecond, 2*time.Second)
	g := newGenerator(d, s)
	g.try(g.one(dies, time.Minute))
	s.failures = slices.Clone(g.done())
	if !s.Early && !d.once(3) {
		s.At = dies + d.between(0, 30*time.Millisecond)
	}
}

// pause stops the whole run, once or twice, for longer than the time-out of pings.
func (p Plan) pause(d dice, s *Script) {
	s.tree(d)
	s.Duration, s.Apart = max(10*time.Second, p.duration(s.Kind)), d.once(2)
	at := first
	for range pick(d, 1, 2) {
		at += d.between(0, 2*time.Second)
		stop := Stop{At: at, For: d.between(2*time.Second, 12*time.Second)}
		if stop.At+stop.For > s.Duration-calm && len(s.Stops) > 0 {
			return
		}
		s.Stops = append(s.Stops, stop)
		at += stop.For + time.Second
	}
}

// outside draws links that are taken down and up from outside, one after the other with pauses: an
// ip command takes time.
func (p Plan) outside(d dice, s *Script) {
	s.tree(d)
	s.policy(d, "minhop", "spread", "unsync", "fors", "fors+hold")
	s.Duration = p.duration(s.Kind)
	g, end := newGenerator(d, s), s.Duration-calm
	for at := first; at < end; at += d.between(500*time.Millisecond, 2*time.Second) {
		length := min(d.between(300*time.Millisecond, 1500*time.Millisecond), end-at)
		switch d.IntN(4) {
		case 0:
			g.try(g.spine(at, length))
		case 1:
			g.try(g.lastLink(at, length))
		default:
			g.try(g.one(at, length))
		}
	}
	s.failures = g.done()
}

// clock draws blows to servers, of which a few may be away at once, and links that fail meanwhile.
func (p Plan) clock(d dice, s *Script) {
	servers := s.small(d)
	s.Duration, s.Apart = max(20*time.Second, p.duration(s.Kind)), true
	for at := first; at < s.Duration-calm; at += d.between(500*time.Millisecond, 5*time.Second) {
		b := Blow{Server: d.IntN(servers), At: at}
		if d.once(2) {
			b.For = d.between(100*time.Millisecond, 2*ControlTimeout)
		}
		s.Blows = append(s.Blows, b)
	}
	g := newGenerator(d, s)
	g.fill(20)
	s.failures = g.done()
}

// severed takes a link down for good. Without a fail-over its routes stay.
func (Plan) severed(d dice, s *Script) {
	s.tree(d)
	s.Duration = time.Hour // the run ends much earlier
	g := newGenerator(d, s)
	g.try(g.one(first+d.between(0, 2*time.Second), time.Hour))
	s.failures = g.done()
}

// strangers connect before the workers and all the time after: a few that stay silent, hundreds at
// once, and some that send garbage.
func (Plan) strangers(d dice, s *Script) {
	s.small(d)
	s.Hosts, s.Duration = true, 4*time.Second
	for at := time.Duration(0); at < s.Duration; at += d.between(200*time.Millisecond, 2*time.Second) {
		w := Wave{At: at, For: d.between(0, 4*time.Second), Connections: pick(d, 1, 20, 300, 1500)}
		if d.once(2) {
			w.Bytes = pick(d, 1, 100, 10_000)
		}
		s.Waves = append(s.Waves, w)
	}
}
