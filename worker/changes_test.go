package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/failover"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
)

// A switcher changes the plan of a case at random moments, until the case is over.
type switcher struct {
	r    *rig
	c    controller.Case
	rand *rand.Rand
	mode modes.Mode

	switches []failover.Switch
	inForce  []modes.Mode // of each
	err      error
}

func (s *switcher) run(ctx context.Context) {
	for epoch := uint32(1); s.err == nil; epoch++ {
		<-time.After(time.Duration(s.rand.Int64N(int64(150 * time.Millisecond))))
		p := controller.PlanChange{Epoch: epoch, Rows: backwards(rows(s.r.n), s.rand.IntN(4))}
		if s.c.AsyncCredits > 0 && s.rand.IntN(3) > 0 {
			p.Mode = []modes.Mode{modes.Sync, modes.Unsync}[s.rand.IntN(2)]
			s.mode = p.Mode
		}
		if s.mode == modes.Unsync && s.rand.IntN(2) == 0 {
			p.Rows = nil
		}
		told := -1
		sw, err := s.r.ctl.Update(ctx, p, func(from uint64) { told = int(from) })
		switch {
		case errors.Is(err, controller.ErrCaseOver) || errors.Is(err, controller.ErrNoCase):
			s.err = err
		case err != nil || told != int(sw.From) || sw.Held > sw.InPlace || sw.LastOld > sw.FirstNew || sw.InPlace > sw.FirstNew:
			s.err = fmt.Errorf("told %d: %+v: %w", told, sw, errors.Join(err, errors.New("not a switch")))
		default:
			s.switches, s.inForce = append(s.switches, sw), append(s.inForce, s.mode)
		}
	}
}

// Plans and modes may change at any moment: every event is built once all the same, by the
// server whose turn it is, and all build equally many.
//
//gate:race
func TestSwitchesAtRandom(t *testing.T) {
	for _, tt := range []struct {
		mode     modes.Mode
		async    int
		seed     uint64
		balanced bool
	}{
		{modes.Sync, 0, 1, false}, {modes.Sync, 3, 3, false}, {modes.FreeRunning, 0, 6, false}, {modes.Unsync, 0, 7, false}, {modes.Unsync, 0, 7, true},
		{modes.Sync, 1, 2, false}, {modes.Sync, 2, 4, false}, {modes.Sync, 2, 5, false}, {modes.Unsync, 0, 9, false}, {modes.Unsync, 0, 11, false},
		{modes.Unsync, 0, 8, true}, {modes.Unsync, 0, 9, true},
	}[:expect.Samples(12, 5)] { // the first are of each kind once
		t.Run(fmt.Sprintf("%s/%d/%d/%v", tt.mode, tt.async, tt.seed, tt.balanced), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { switchAtRandom(t, tt.mode, tt.async, tt.seed, tt.balanced) })
		})
	}
}

func switchAtRandom(t *testing.T, mode modes.Mode, async int, seed uint64, balanced bool) {
	n := 4 + int(seed)%5
	r := newRig(t, n).start()
	c := newCase(n, mode)
	c.AsyncCredits, c.Exchanges, c.Duration = async, 0, 2*time.Second
	if seed%2 == 0 {
		c.Exchanges = 200
	}
	if balanced {
		c.Assign, c.Sizes = builder.AssignBalanced, builder.Distribution{Kind: builder.Exponential, By: builder.ByEvent}
	}
	s := &switcher{r: r, c: c, rand: rand.New(rand.NewPCG(seed, 1)), mode: mode}
	var wg sync.WaitGroup
	c.OnMeasure = func() { wg.Go(func() { s.run(t.Context()) }) }
	o, err := r.ctl.RunCase(t.Context(), c)
	wg.Wait()
	expect.MustFalse(t, err != nil || !errors.Is(s.err, controller.ErrCaseOver) && !errors.Is(s.err, controller.ErrNoCase), "%v %v", err, s.err)
	expect.True(t, o.Complete && o.Built == o.Assigned && o.Lost+o.Duplicate+o.Unknown+o.Unfinished == 0 && o.Assigned%uint64(n) == 0,
		"outcome %+v", o)
	expect.True(t, o.LateFragments+o.DuplicateFragments+o.CorruptFragments+o.StrayFragments == 0, "damaged fragments: %+v", o)
	if c.Exchanges > 0 && o.Events != uint64(n)*c.Exchanges {
		t.Errorf("%d events of %d", o.Events, uint64(n)*c.Exchanges)
	}
	for _, w := range o.Servers {
		expect.False(t, w.Events*uint64(n) != o.Events || mode != modes.Unsync && w.Totals.Exchanges != w.Events || !balanced && w.SentBytes != w.ReceivedBytes,
			"server %d: %+v; %d events of all", w.Server, w.Totals, o.Events)
	}
	s.check(t)
}

func (s *switcher) check(t *testing.T) {
	expect.True(t, len(s.switches) >= 5, "%d switches", len(s.switches))
	seen := map[modes.Mode]bool{}
	for i, sw := range s.switches {
		seen[s.inForce[i]] = true
		if i > 0 && sw.From <= s.switches[i-1].From {
			t.Errorf("switch from %d, after one from %d", sw.From, s.switches[i-1].From)
		}
	}
	expect.False(t, s.c.AsyncCredits > 0 && len(seen) != 2, "modes %v; want both", seen)
}

// What is sent twice and what comes too late is recognised after a change of the plan, and
// costs the new events nothing; an event that is spoilt on the old plan is lost, once.
//
//gate:race
func TestLateFragmentsOfAnOldPlan(t *testing.T) {
	for _, to := range []modes.Mode{modes.Sync, modes.Unsync} {
		t.Run(string(to), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { lateFragments(t, to) }) })
	}
}

func lateFragments(t *testing.T, to modes.Mode) {
	const n = 4
	r := newRig(t, n)
	old := rows(n)
	for _, row := range old {
		for i := range row {
			row[i].ToSpine, row[i].FromSpine = 0, 0
		}
	}
	var twice, spoilt int
	r.fault = func(m *transporttest.Message) transporttest.Action {
		h, err := builder.Parse(m.Head)
		if err != nil || h.Kind != builder.Data || h.Epoch != 0 {
			return transporttest.Deliver
		}
		switch {
		case m.Src == 1 && m.Dst == 2:
			twice++
			return transporttest.Duplicate
		case m.Src == 3 && m.Dst == 0 && h.Event/n == 20: // twice, and both are wrong
			spoilt++
			m.Body[0] ^= 1
			return transporttest.Duplicate
		}
		return transporttest.Deliver
	}
	r.start()
	c := newCase(n, modes.Sync)
	c.Rows, c.AsyncCredits, c.Warmup, c.Exchanges = old, 2, 0, 60
	var wg sync.WaitGroup
	var switched error
	c.OnMeasure = func() {
		wg.Go(func() {
			<-time.After(500 * time.Millisecond)
			p := controller.PlanChange{Epoch: 1, Mode: to, Rows: old} // on the very same streams
			_, switched = r.ctl.Update(t.Context(), p, nil)
		})
	}
	o, err := r.ctl.RunCase(t.Context(), c)
	wg.Wait()
	expect.MustTrue(t, err == nil && switched == nil, "%v %v", err, switched)
	expect.True(t, o.Assigned == 60*n && o.Built == o.Assigned-1 && o.Lost == 1 && o.Duplicate+o.Unknown == 0 && spoilt == 1, "outcome %+v", o)
	expect.False(t, o.DuplicateFragments+o.LateFragments != uint64(twice)+1 || o.LateFragments != 1 || o.StrayFragments != 0 || o.CorruptFragments != 1,
		"%d duplicate, %d late, %d stray, %d corrupt; %d were sent twice", o.DuplicateFragments, o.LateFragments, o.StrayFragments, o.CorruptFragments, twice)
}

// A worker in the middle of an exchange that stands still takes the plan all the same: it
// holds from the next exchange, be that soon or not.
func TestUpdateWhileAnExchangeStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		alive := make(chan struct{})
		close(alive)
		var mu sync.Mutex
		var dead <-chan struct{} = alive
		r := newRig(t, n)
		r.hold(2, func(ctx context.Context) error {
			mu.Lock()
			mended := dead
			mu.Unlock()
			select {
			case <-mended:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		r.start()
		c := lasting(n, modes.Sync, 3*time.Second)
		var wg sync.WaitGroup
		var sw failover.Switch
		var err error
		var failed, called, placed, mended time.Time
		c.OnMeasure = func() {
			wg.Go(func() {
				<-time.After(time.Second)
				cut := make(chan struct{})
				mu.Lock()
				dead, failed = cut, time.Now()
				mu.Unlock()
				time.AfterFunc(time.Second, func() { mended = time.Now(); close(cut) })
				<-time.After(50 * time.Millisecond)
				called = time.Now()
				sw, err = r.ctl.Update(t.Context(), controller.PlanChange{Epoch: 1, Rows: backwards(rows(n), 0)}, func(uint64) { placed = time.Now() })
			})
		}
		o, runErr := r.ctl.RunCase(t.Context(), c)
		wg.Wait()
		expect.MustTrue(t, err == nil && runErr == nil && o.Built == o.Assigned, "%v %v %v", err, runErr, o)
		d := placed.Sub(failed)
		expect.True(t, d <= 55*time.Millisecond, "placed %v after the failure, want 50ms", d)
		if d := called.Add(sw.LastOld).Sub(mended); d < 0 || d > 200*time.Millisecond || sw.FirstNew-sw.LastOld > 100*time.Millisecond {
			t.Errorf("mended %v, last %v, first %v", mended, sw.LastOld, sw.FirstNew)
		}
		left := o.Exchanges
		expect.True(t, left >= sw.From+30, "%d exchanges, %d on the new plan", left, left-sw.From)
	})
}

// A worker that goes away while the plan changes ends the case, and is named.
//
//gate:race
func TestKilledDuringUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4).start()
		c := newCase(4, modes.Sync)
		c.AsyncCredits, c.Exchanges, c.Duration = 1, 0, time.Hour
		var wg sync.WaitGroup
		var err error
		c.OnMeasure = func() {
			wg.Go(func() {
				<-time.After(time.Second)
				p := controller.PlanChange{Epoch: 1, Mode: modes.Unsync}
				_, err = r.ctl.Update(t.Context(), p, func(uint64) { r.kill[3]() })
			})
		}
		_, runErr := r.ctl.RunCase(t.Context(), c)
		wg.Wait()
		expect.Error(t, runErr, "server 13: control connection lost")
		expect.True(t, errors.Is(err, controller.ErrCaseOver), "Update: %v", err)
		r.stop(3)
	})
}

// What no case can do is refused, and harms nothing.
//
//gate:race
func TestUpdatesRefused(t *testing.T) {
	for _, tt := range []struct {
		mode, to    modes.Mode
		want        string
		async, rows int
	}{
		{modes.Sync, modes.Unsync, "not possible in this case, which is synchronised", 0, 3},
		{modes.Unsync, modes.Sync, "not possible in this case, which is unsynchronised", 0, 3},
		{modes.FreeRunning, modes.Unsync, "not possible in this case, which is free-running", 0, 3},
		{modes.Sync, "rushed", `mode "rushed"`, 2, 3},
		{modes.Sync, "", "0 rows for 3 servers", 2, 0},
		{modes.Sync, modes.Unsync, "2 rows for 3 servers", 2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 3).start()
			c := newCase(3, tt.mode)
			c.AsyncCredits, c.Exchanges = tt.async, 20
			var err error
			var wg sync.WaitGroup
			c.OnMeasure = func() {
				wg.Go(func() {
					<-time.After(10 * time.Millisecond)
					_, err = r.ctl.Update(t.Context(), controller.PlanChange{Epoch: 1, Mode: tt.to, Rows: rows(3)[:tt.rows]}, nil)
				})
			}
			o, runErr := r.ctl.RunCase(t.Context(), c)
			expect.True(t, runErr == nil && o.Built == o.Assigned, "%v %v", runErr, o)
			wg.Wait()
			expect.Error(t, err, tt.want)
		})
	}
}
