package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/worker"
)

// probers are workers that probe each other without a network.
type probers struct {
	*rig

	mu   sync.Mutex
	busy map[int]int // server -> probes that it takes part in
}

const probeTime = 10 * time.Millisecond

func newProbers(t *testing.T, n int, probe func(p *probers, from int) worker.ProbeFunc) *probers {
	p := &probers{rig: newRig(t, n), busy: map[int]int{}}
	p.options = func(i int, o *worker.Options) {
		o.Data, o.Host, o.Probe = fmt.Sprint(i), results.Host{Host: fmt.Sprint("node", i), MTU: 9000}, probe(p, i)
	}
	p.start()
	return p
}

// reach is a probe that takes its time and says who asked whom.
func (p *probers) reach(from int) worker.ProbeFunc {
	return func(ctx context.Context, data string, routers bool) []wire.Reach {
		var to int
		fmt.Sscan(data, &to)
		p.part(1, from, to)
		defer p.part(-1, from, to)
		select {
		case <-time.After(probeTime):
		case <-ctx.Done():
		}
		r := wire.Reach{Addr: data, Hops: from}
		if routers {
			r.Router = "asked for"
		}
		return []wire.Reach{r}
	}
}

// part notes that two servers have to do with each other: at most both probe.
func (p *probers) part(change, a, b int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy[a] += change
	p.busy[b] += change
	expect.True(p.t, p.busy[a] <= 2 && p.busy[b] <= 2, "servers %d and %d are disturbed: %v", a, b, p.busy)
}

// The pairs of positions whose routers are asked for.
func nobody(int, int) bool       { return false }
func firstTwo(from, to int) bool { return from == 10 && to == 11 }

// Every pair is probed in both directions, and nobody by two at a time.
func TestSurvey(t *testing.T) {
	for _, n := range []int{2, 5, 8} {
		synctest.Test(t, func(t *testing.T) {
			p := newProbers(t, n, (*probers).reach)
			began := time.Now()
			s := expect.Value(p.ctl.Survey(t.Context(), time.Hour, firstTwo))(t)
			for from := range n {
				for to := range n {
					var want []wire.Reach
					if from != to {
						want = []wire.Reach{{Addr: fmt.Sprint(to), Hops: from}}
						if firstTwo(10+from, 10+to) {
							want[0].Router = "asked for"
						}
					}
					expect.Equal(t, s[from][to], want, "from %d to %d", from, to)
				}
			}
			if rounds := n - 1 + n%2; time.Since(began) != time.Duration(rounds)*probeTime {
				t.Errorf("%d servers took %v, want %d rounds of %v", n, time.Since(began), rounds, probeTime)
			}
			expect.Equal(t, len(s), n, "servers")
		})
	}
}

// When its time is over, a survey begins no further round.
//
//gate:race
func TestSurveyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbers(t, 8, (*probers).reach)
		s, err := p.ctl.Survey(t.Context(), probeTime*3/2, nobody)
		measured := 0
		for _, row := range s {
			for _, r := range row {
				if r != nil {
					measured++
				}
			}
		}
		expect.True(t, err == nil && measured == 2*8, "%d measured, %v; want two rounds", measured, err)
	})
}

// Workers that cannot probe say so, and a case can follow a survey.
//
//gate:race
func TestSurveyWithoutProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3).start()
		s, err := r.ctl.Survey(t.Context(), time.Hour, nobody)
		expect.True(t, err == nil && len(s) == 3 && s[0][1] == nil, "got %+v, %v", s, err)
		out, err := r.ctl.RunCase(t.Context(), newCase(3, modes.Sync))
		expect.True(t, err == nil && out.Complete, "the case after it: %+v, %v", out, err)
	})
}

// A worker that leaves, one that does not answer, and a run that ends, end the survey.
//
//gate:race
func TestSurveyFails(t *testing.T) {
	hang := func(p *probers, from int) worker.ProbeFunc {
		if from != 1 {
			return p.reach(from)
		}
		return func(ctx context.Context, _ string, _ bool) []wire.Reach { <-ctx.Done(); return nil }
	}
	why := errors.New("interrupt")
	for _, tt := range []struct {
		name string
		do   func(p *probers, cancel context.CancelCauseFunc)
		want string
	}{
		{"leaves", func(p *probers, _ context.CancelCauseFunc) { p.kill[1]() }, "server 11 has left"},
		{"is silent", func(*probers, context.CancelCauseFunc) {}, "no answer from server 11"},
		{"interrupted", func(_ *probers, cancel context.CancelCauseFunc) { cancel(why) }, "interrupt"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			p := newProbers(t, 4, hang)
			defer p.stop(1)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			time.AfterFunc(time.Second, func() { tt.do(p, cancel) })
			_, err := p.ctl.Survey(ctx, time.Hour, nobody)
			expect.Error(t, err, tt.want)
		})
	}
}

func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbers(t, 2, (*probers).reach)
		want := []results.Host{
			{Server: 10, Host: "node0", MTU: 9000, Addresses: []string{"0"}},
			{Server: 11, Host: "node1", MTU: 9000, Addresses: []string{"1"}},
		}
		expect.Equal(t, p.ctl.Hosts(), want, "hosts")
	})
}
