package controller

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/testing/expect"
)

func TestCheckRanges(t *testing.T) {
	type rs = []wire.Range
	for _, tt := range []struct {
		name    string
		done    rs
		granted rs
		want    check
	}{
		{"nothing", nil, rs{{}}, check{}},
		{"all", rs{{From: 0, To: 9}}, rs{{From: 0, To: 9}}, check{assigned: 9, built: 9}},
		{"none", nil, rs{{From: 0, To: 9}}, check{assigned: 9, lost: 9}},
		{"a gap", rs{{From: 0, To: 3}, {From: 5, To: 9}}, rs{{From: 0, To: 9}}, check{assigned: 9, built: 7, lost: 2}},
		{"twice", rs{{From: 0, To: 9}, {From: 2, To: 4}}, rs{{From: 0, To: 9}}, check{assigned: 9, built: 9, duplicate: 2}},
		{"overlap", rs{{From: 0, To: 5}, {From: 3, To: 9}}, rs{{From: 0, To: 9}}, check{assigned: 9, built: 9, duplicate: 2}},
		{"too many", rs{{From: 0, To: 12}}, rs{{From: 0, To: 9}}, check{assigned: 9, built: 9, unknown: 3}},
		{"beyond", rs{{From: 0, To: 9}, {From: 11, To: 12}}, rs{{From: 0, To: 9}}, check{assigned: 9, built: 9, unknown: 1}},
		{"upside down", rs{{From: 0, To: 9}, {From: 7, To: 5}}, rs{{From: 0, To: 9}}, check{assigned: 9, built: 9}},
		{"sections", rs{{From: 0, To: 3}, {From: 7, To: 9}}, rs{{From: 0, To: 3}, {From: 7, To: 9}}, check{assigned: 5, built: 5}},
		{"sections in one", rs{{From: 0, To: 3}}, rs{{From: 0, To: 2}, {From: 2, To: 3}}, check{assigned: 3, built: 3}},
		{"between sections", rs{{From: 0, To: 5}, {From: 7, To: 8}}, rs{{From: 0, To: 3}, {From: 7, To: 9}}, check{assigned: 5, built: 4, lost: 1, unknown: 2}},
	} {
		expect.Equal(t, checkRanges(tt.done, tt.granted), tt.want, "%s", tt.name)
	}
}

// The ledger against maps.
func TestLedger(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var l ledger
	owner, closed := map[uint64]int{}, map[uint64]bool{}
	var free []uint64 // reserved
	want := check{}
	for range 5000 {
		rank := r.IntN(3)
		if r.IntN(2) == 0 {
			if len(free) == 0 || r.IntN(5) == 0 { // a batch
				first := l.reserve(3)
				free = append(free, first, first+1, first+2)
			}
			i := r.IntN(len(free))
			l.assign(rank, free[i])
			owner[free[i]] = rank
			free = slices.Delete(free, i, i+1)
			want.assigned++
			continue
		}
		id, how := uint64(r.IntN(int(l.next())+2)), []fate{built, gaveUp}[r.IntN(2)]
		switch o, ok := owner[id]; {
		case !ok:
			want.unknown++
		case closed[id]:
			want.duplicate++
		case o != rank:
			want.unknown++
		default:
			closed[id] = true
			if how == built {
				want.built++
			}
		}
		l.close(rank, id, how)
	}
	want.lost = want.assigned - want.built
	got := l.check()
	expect.True(t, got == want && l.open == len(owner)-len(closed),
		"check %+v with %d open, want %+v with %d", got, l.open, want, len(owner)-len(closed))
}

func TestSpare(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		counted uint64
		took    time.Duration
		want    uint64
	}{
		{0, 0, 0}, {5, 0, 0}, {0, 100 * ms, 0},
		{7, 7 * ms, 0}, {8, 8 * ms, 1}, {160, 160 * ms, 20}, // an eighth
		{1000, 1000 * ms, 50}, {1000, 10000 * ms, 5}, // what 50 ms take
		{100000, 5000000 * ms, 1}, {100000, 5001000 * ms, 0},
	} {
		expect.Equal(t, spare(tt.counted, tt.took), tt.want, "in advance, of %d events in %v", tt.counted, tt.took)
	}
}

// Whoever reports late or early, of many events or of one: no server is given more than the limits say, none that
// has nothing waits for a reason but the slowest, short events take fewer messages than events, and in the end all
// have built the same.
func TestEventsInAdvance(t *testing.T) {
	for i, each := range []time.Duration{time.Millisecond, time.Second, time.Millisecond, time.Second} {
		balanced := i >= 2
		r, d := rand.New(rand.NewPCG(2, 2)), dealing{t: t, m: measuringUnsync(4, balanced), owner: map[uint64]int{}}
		for now := time.Duration(0); d.m.state == measuring; now += each / 4 {
			rank := r.IntN(4)
			if n := len(d.has[rank]); n > 0 {
				d.report(now, rank, 1+r.IntN(n))
			}
			d.within(now)
		}
		for rank := 0; d.m.state == draining; rank = (rank + 1) % 4 {
			d.report(time.Hour, rank, len(d.has[rank]))
		}
		c := d.m.ledger.check()
		expect.True(t, d.m.state == finishing && c.built == c.assigned && c.built == 4*d.m.level && c.duplicate+c.unknown == 0,
			"%v each: in the %v with %+v, want 4 times %d", each, d.m.state, c, d.m.level)
		if balanced {
			d.inBatches()
		}
		expect.True(t, (each < inAdvance) == (d.messages < int(c.built)/2), "%v each: %d messages for %d events", each, d.messages, c.built)
	}
}

// dealing is a machine and what its workers have been given and not reported.
type dealing struct {
	t        *testing.T
	m        *machine
	has      [4][]uint64
	messages int
	owner    map[uint64]int
}

// inBatches wants as many events of each batch with every server, the last batch included.
func (d *dealing) inBatches() {
	count := map[[2]int]int{}
	for id, rank := range d.owner {
		count[[2]int{int(id) / (4 * builder.Ahead), rank}]++
	}
	for batch := range 400 / builder.Ahead {
		for rank := range 4 {
			n := count[[2]int{batch, rank}]
			expect.True(d.t, n == builder.Ahead, "rank %d has %d events of batch %d", rank, n, batch)
		}
	}
}

// measuringUnsync returns a machine that is about to hand out the first event.
func measuringUnsync(n int, balanced bool) *machine {
	c := Case{Exchanges: 400, Case: wire.Case{Setting: builder.Setting{Mode: modes.Unsync, Credits: 2}, Peers: make([]wire.Peer, n)}}
	if balanced {
		c.Assign = builder.AssignBalanced
	}
	c.Fragment, c.Sizes.Kind = 1000, builder.Exponential
	m := newMachine(c.withDefaults(), 1)
	m.enter(0, quiet)
	m.measured(0)
	return m
}

func (d *dealing) report(now time.Duration, rank, events int) {
	d.take()
	msg := wire.Completed{Run: 1, Built: d.has[rank][:events]}
	d.has[rank] = d.has[rank][events:]
	d.m.receive(now, rank, msg)
	d.take()
}

func (d *dealing) take() {
	for _, a := range d.m.take() {
		if s, ok := a.(send); ok {
			if msg, ok := s.m.(wire.Assign); ok {
				d.has[s.rank] = append(d.has[s.rank], msg.Events...)
				for _, id := range msg.Events {
					d.owner[id] = s.rank
				}
				d.messages++
			}
		}
	}
}

func (d *dealing) within(now time.Duration) {
	d.take()
	slowest := d.m.workers[0].done
	for _, w := range d.m.workers {
		slowest = min(slowest, w.done)
	}
	most := slowest/smallPart + 2
	for rank, w := range d.m.workers {
		expect.MustTrue(d.t, w.assigned <= slowest+builder.Lead+most && w.assigned <= w.done+most,
			"at %v rank %d has done %d of %d, the slowest %d", now, rank, w.done, w.assigned, slowest)
		expect.MustFalse(d.t, w.assigned == w.done && w.done < slowest+2+builder.Lead && d.m.state == measuring,
			"at %v rank %d has nothing to do after %d, the slowest %d", now, rank, w.done, slowest)
	}
}

// An exchange that is known to take longer than the measurement is granted alone; where
// nothing is known, or exchanges are short, a few are.
func TestPacerExpects(t *testing.T) {
	for _, tt := range []struct {
		expected time.Duration
		want     uint64
	}{{0, 2}, {2 * time.Minute, 1}, {50 * time.Second, 2}, {10 * time.Millisecond, 2}} {
		p := newPacer(0, Case{Case: wire.Case{Setting: builder.Setting{Duration: time.Minute}}, Expected: tt.expected})
		p.measure(0, time.Second)
		until, last := p.extend(time.Second, 0, 0)
		expect.True(t, until == tt.want && !last,
			"expected to take %v: %d exchanges granted, the last: %v; want %d", tt.expected, until, last, tt.want)
		if until, last := p.extend(62*time.Second, 1, 1); until != 1 || !last {
			t.Errorf("expected to take %v, when the time is over: %d granted, the last: %v", tt.expected, until, last)
		}
	}
}

// A worker that claims each exchange as soon as it is granted does not prolong a case: the others
// would have to do what was granted to it.
func TestClaimsDoNotProlong(t *testing.T) {
	const each = 50 * time.Millisecond
	for _, mode := range []modes.Mode{modes.Sync, modes.FreeRunning, modes.Ordered} {
		c := Case{Case: wire.Case{Setting: builder.Setting{Name: "c", Mode: mode, Duration: time.Second}, Fragment: 1000, Peers: make([]wire.Peer, 3)}}
		m := newMachine(c.withDefaults(), 1)
		m.start(0)
		for rank := range m.workers {
			m.receive(0, rank, wire.Ready{Run: 1})
		}
		m.measured(0)
		now := time.Duration(0)
		for ; m.state != finishing && now < time.Minute; now += time.Millisecond {
			for range 20 {
				for _, a := range m.take() {
					if p, ok := a.(planning); ok {
						m.planned(now, p.id, make([]wire.Window, len(m.workers)), nil)
					}
				}
				m.receive(now, 0, wire.Progress{Run: 1, Exchange: m.pace.until})
			}
			for rank := 1; rank < len(m.workers); rank++ {
				m.receive(now, rank, wire.Progress{Run: 1, Exchange: min(m.pace.until, uint64(now/each))})
			}
			m.tick(now)
		}
		expect.True(t, m.state == finishing && now < 3*time.Second, "%s: in %v after %v, %d exchanges granted", mode, m.state, now, m.pace.until)
	}
}

// Everyone meets everyone once, one at a time, in as few rounds as there can be.
func TestPairings(t *testing.T) {
	for n := range 30 {
		rounds := pairings(n)
		want := n - 1 + n%2
		expect.False(t, n > 1 && len(rounds) != want, "%d servers: %d rounds, want %d", n, len(rounds), want)
		met := map[[2]int]int{}
		for _, partner := range rounds {
			for a, b := range partner {
				if b < 0 {
					continue
				}
				expect.MustTrue(t, a != b && partner[b] == a, "%d servers: %d meets %d, who meets %d", n, a, b, partner[b])
				met[[2]int{a, b}]++
			}
		}
		expect.True(t, len(met) == n*max(n-1, 0), "%d servers: %d ordered pairs meet, want %d", n, len(met), n*(n-1))
		for pair, times := range met {
			expect.Equal(t, times, 1, "%d servers: times that %v meet", n, pair)
		}
	}
}
