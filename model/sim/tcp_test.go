package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/testing/expect"
)

// streams is a job for the model of streams on the small tree: a packet of 1,000 bytes takes 1 µs.
func streams(t *testing.T, mode modes.Mode, routing string, down ...string) *Job {
	j := small(t, mode, "", routing, down...)
	if mode.Phases() {
		j = small(t, mode, "linear-shift", routing, down...)
	}
	j.TCP = TCP{Packet: 1000, Window: 64_000, Burst: 1000}
	j.Size = func(uint64, int) int { return 100_000 - j.Header }
	j.Duration = 20 * time.Millisecond
	return j
}

// Each event is built once and each byte counted where it went, in all modes that the model has.
func TestStreamsBuildEachEventOnce(t *testing.T) {
	for name, j := range map[string]*Job{
		"one event":     streams(t, modes.Unsync, "ftree", "leaf0-spine1"),
		"hashed":        streams(t, modes.Unsync, "ecmp", "leaf0-spine1"),
		"two sources":   streams(t, modes.Unsync, "minhop", "leaf0-spine1"),
		"four events":   streams(t, modes.Unsync, "minhop"),
		"free-running":  streams(t, modes.FreeRunning, "ftree"),
		"small windows": streams(t, modes.Unsync, "ftree"),
		"large packets": streams(t, modes.Unsync, "ftree"),
		"some empty":    streams(t, modes.FreeRunning, "ftree"),
	} {
		t.Run(name, func(t *testing.T) {
			j.Duration /= 2
			switch name {
			case "two sources":
				j.Sources = 2
			case "four events":
				j.Credits, j.Timing.Overhead = 4, 1000
			case "small windows":
				j.TCP.Window = 1500
			case "large packets":
				j.Credits, j.TCP.Packet, j.TCP.Burst, j.TCP.Window = 1, 1<<20, 1, 1
			case "some empty":
				j.Size, j.Equal = func(event uint64, src int) int { return 50_000 * ((int(event) + src) % 3) }, false
			}
			o := expect.Value(Streams(t.Context(), j, nil))(t)
			counts(t, j, o)
			n := j.Plan.Tree.Servers()
			for s := range n {
				heads := float64(40 * uint64(n-1) * o.Exchanges)
				within(t, "up", o.Wires[j.Plan.Tree.FromServer(s)], float64(o.sent[s])+heads, 1e-9)
				within(t, "down", o.Wires[j.Plan.Tree.ToServer(s)], float64(o.Received[s])+heads, 1e-9)
			}
		})
	}
}

// What the fullest link carries bounds the model from below, but for one bucket a port.
func TestStreamsKeepBound(t *testing.T) {
	for _, dead := range [][]string{nil, {"leaf0-spine0"}, {"leaf0-spine0", "leaf1-spine1"}} {
		j := streams(t, modes.Unsync, "minhop", dead...)
		o := expect.Value(Streams(t.Context(), j, nil))(t)
		most := 0.0
		for _, bytes := range o.Wires {
			most = max(most, bytes)
		}
		least := (most - float64(j.TCP.Burst)) * 8 / j.BitPerSec
		expect.True(t, o.Span.Seconds() > least && o.Span.Seconds() < 1.5*least, "%v: %v, bound %.6f s", dead, o.Span, least)
	}
}

// A link dies, and the messages on it go again over the new path; without one the error names who waits.
func TestStreamsThroughChange(t *testing.T) {
	j := streams(t, modes.Unsync, "minhop")
	dead := streams(t, modes.Unsync, "minhop", "leaf0-spine0").Plan
	j.Changes = []Change{{At: 5 * time.Millisecond, Plan: dead}, {At: 12 * time.Millisecond, Plan: j.Plan}}
	counts(t, j, expect.Value(Streams(t.Context(), j, nil))(t))

	j.Changes = []Change{{At: 5 * time.Millisecond, Plan: stale(t, j.Plan, "leaf0-spine0")}}
	_, err := Streams(t.Context(), j, nil)
	expect.Error(t, err, "waits for ever: no path is alive")
}

// After changes nothing is under way over dead links, and at the end nothing at all: no connection keeps bytes or
// packets that were lost.
func TestStreamsEndEmpty(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Unsync, modes.FreeRunning, modes.Sync}[:expect.Samples(3, 2)] {
		for _, credits := range []int{1, 4} {
			j := streams(t, mode, "minhop")
			j.Credits = credits
			dead := streams(t, mode, "minhop", "leaf0-spine0", "leaf2-spine1").Plan
			other := streams(t, mode, "minhop", "leaf0-spine1").Plan
			j.Changes = []Change{{At: 2 * time.Millisecond, Plan: dead}, {At: 5 * time.Millisecond, Plan: other}, {At: 5100 * time.Microsecond, Plan: dead}, {At: 12 * time.Millisecond, Plan: j.Plan}}
			q := newQueues(j, expect.Value(ruleOf(j))(t))
			expect.OK(t, q.run(t.Context(), nil))
			counts(t, j, q.meter.outcome(j))
			for i, s := range q.streams {
				expect.True(t, s.own == 0 && s.fly == 0 && s.owes == 0 && len(s.sends) == 0, "%s, credits %d: stream %d: %+v", mode, credits, i, s)
			}
			for i, x := range q.sends {
				expect.True(t, x.left == 0 && x.unsure == 0 && x.sent == x.bytes, "%s, credits %d: fragment %d: %+v", mode, credits, i, x)
			}
			q = newQueues(j, expect.Value(ruleOf(j))(t))
			q.rule.begin(&q.stage)
			for range 2000 {
				q.dispatch(q.now, q.rule, q.change)
				x := q.first()
				q.now = x.at
				q.left(x)
			}
			q.change(1)
			for i, x := range q.sends {
				expect.True(t, x.left <= 0 || q.plans.alive(x.path) && q.plans.alive(x.back), "%s, credits %d: fragment %d: %+v", mode, credits, i, x)
			}
		}
	}
}

// A queued packet of the second version.
type waiting struct {
	from, fragment, hop int
	path                []int32
}

// plainly builds one event of each server packet by packet, one packet a tick and port: a second
// version, for windows without end. It returns the ticks that it takes.
func plainly(p *plan.Plan, n, packets int) int {
	net := networkOf(p, 0)
	left := make([][][]int, n) // by source: [to, packets] that its program has handed over, in order
	for dst := range n {
		for src := range n {
			if src != dst {
				left[src] = append(left[src], []int{dst, packets})
			}
		}
	}
	queue := make([][]waiting, net.wires)
	own := map[[2]int]int{}
	total, ticks := n*(n-1)*packets, 0
	for ; total > 0; ticks++ {
		sent := make([]bool, net.wires)
		for moved := true; moved; {
			moved = false
			for src := range n { // connections take turns at their own port
				for i := range left[src] {
					for x := left[src][i]; x[1] > 0 && own[[2]int{src, x[0]}] < ownQueue; x[1]-- {
						path := net.path(nil, src, x[0])
						queue[path[0]] = append(queue[path[0]], waiting{src, x[0], 0, path})
						own[[2]int{src, x[0]}]++
					}
				}
			}
			for w := range queue {
				if len(queue[w]) == 0 || sent[w] {
					continue
				}
				x := queue[w][0]
				queue[w], sent[w], moved = queue[w][1:], true, true
				if x.hop == 0 {
					own[[2]int{x.from, x.fragment}]--
				}
				if x.hop++; x.hop == len(x.path) {
					total--
				} else {
					queue[x.path[x.hop]] = append(queue[x.path[x.hop]], x)
				}
			}
		}
	}
	return ticks
}

// One event of each server takes what a plain version by ticks says, on random trees with dead links:
// which of two packets that arrive together goes first differs, so not to the packet.
func TestStreamsPlainly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"leaf0-spine0", "leaf1-spine1", "leaf2-spine3", "leaf3-spine0", "leaf1-spine2"}
	const packets = 20
	for range 12 {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		j := streams(t, modes.Unsync, []string{"minhop", "ftree", "spread"}[rng.IntN(3)], names[:rng.IntN(4)]...)
		j.TCP.Window, j.Duration = 1<<30, time.Nanosecond
		j.Size = func(uint64, int) int { return packets*1000 - j.Header }
		o := expect.Value(Streams(t.Context(), j, nil))(t)
		n := j.Plan.Tree.Servers()
		want := plainly(j.Plan, n, packets)
		within(t, "ticks", o.Span.Seconds()*j.BitPerSec/8/1000, float64(want)*float64(o.Exchanges), 0.05)
	}
}
