package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/plan"
	"evbench/results"
	"evbench/topology"
)

// A State is the sum of the events of a run so far. A copy of it stays unchanged while the original
// takes further events.
type State struct {
	Manifest  *results.Manifest // nil: the run has not begun
	Cases     []bench.Planned
	Limit     time.Duration
	Last      bench.Progress // the last event of Begun or of a slice, except Done and parallel events
	Rates     []Rate         // of the current slice, or of the last
	Summary   results.Summary
	Links     map[string][]results.LinkCount // by case: traffic of links in its slices
	Pairs     map[string][]results.PairCount
	Servers   map[string][]results.ServerCount
	Failovers []results.Failover // of the slices so far, including the current one
	Ended     bool

	latest bench.Done      // of the last slice
	dead   []topology.Link // in the current slice
	inUse  *plan.Plan      // in the current slice, if it has changed
	since  time.Time       // start of the first slice
	slice  time.Time       // start of the current slice
	beside time.Duration   // time of slices beyond their measured parts
	now    time.Time
}

// A Rate is how many events one server built per second, the mean over all, in the interval that
// ends at At of the measured part.
type Rate struct {
	At           time.Duration
	EventsPerSec float64
}

func (s *State) Take(p bench.Progress) {
	s.now = p.At
	switch e := p.Event.(type) {
	case bench.Begun:
		s.Manifest, s.Cases, s.Limit, s.Last = &e.Manifest, e.Cases, e.Limit, p
	case bench.Added:
		s.Cases = append(slices.Clip(s.Cases), e.Case)
	case bench.Installing:
		s.Last, s.Rates, s.slice = p, nil, p.At
		if s.since.IsZero() {
			s.since = p.At
		}
		s.dead, s.inUse = nil, nil
		if c := s.Case(p.Case); c != nil {
			s.dead = c.Plan.Tree.Dead()
		}
	case bench.WarmingUp:
		s.Last = p
	case bench.Measuring:
		s.Last = p
		if e.Elapsed > 0 {
			s.Rates = append(s.Rates, Rate{e.Elapsed, e.Interval})
		}
	case bench.LinksChanged:
		s.change(e.Down, e.Up)
	case bench.Replanned:
		s.inUse = e.Plan
	case bench.FailedOver:
		s.failedOver(e.Failover)
	case bench.Done:
		s.beside += max(0, p.At.Sub(s.slice)-p.Duration)
		s.Last, s.Summary = p, s.pending(e.Summary)
		s.done(e)
	case bench.RoundDone:
		s.Summary = s.pending(e.Summary)
	case bench.Ended:
		s.Summary, s.Ended = e.Summary, true
	}
}

// pending is the summary of an unfinished run. Its answer is not final: open comparisons may still
// be resolved, and without a slice of the control none is.
func (s *State) pending(sum results.Summary) results.Summary {
	sum.Cases = slices.Clone(sum.Cases)
	controlled := slices.ContainsFunc(s.Cases, func(c bench.Planned) bool { return c.Control })
	for i, c := range sum.Cases {
		if e := c.Estimate; c.Verdict == results.Unresolved || controlled && !c.Control && e != nil && e.Of != results.OfRatio {
			sum.Cases[i].Verdict = results.Pending
		}
	}
	if sum.Answer != nil {
		a := *sum.Answer
		a.Verdict, a.Why = answer.Pending, nil
		sum.Answer = &a
	}
	return sum
}

func (s *State) change(down, up []topology.Link) {
	s.dead = slices.Concat(topology.Minus(s.dead, slices.Concat(down, up)), down)
	slices.SortFunc(s.dead, topology.Link.Compare)
}

// failedOver keeps a fail-over. Only this event tells of links changed from outside.
func (s *State) failedOver(f results.Failover) {
	s.Failovers = append(slices.Clip(s.Failovers), f)
	if c := s.Case(f.Case); c != nil && strings.HasPrefix(f.Reason, results.FromOutside) {
		s.change(linksOf(&c.Plan.Tree.Live, f.Down), linksOf(&c.Plan.Tree.Live, f.Up))
	}
}

func linksOf(t *topology.Live, names []string) (out []topology.Link) {
	for _, name := range names {
		if links, err := t.Links(name); err == nil {
			out = append(out, links...)
		}
	}
	return out
}

// done takes the result of a slice. Its fail-overs now have their rates.
func (s *State) done(e bench.Done) {
	s.Failovers = slices.DeleteFunc(slices.Clone(s.Failovers), func(f results.Failover) bool {
		return slices.ContainsFunc(e.Slice.Failovers, func(x results.Failover) bool { return x.Case == f.Case && x.Repeat == f.Repeat })
	})
	s.Failovers = append(s.Failovers, e.Slice.Failovers...)
	name := e.Slice.Name
	s.latest = e
	s.Links = summed(s.Links, name, e.Links, (*results.LinkCount).Add)
	s.Pairs = summed(s.Pairs, name, e.Pairs, func(sum *results.PairCount, p results.PairCount) { sum.Add(p, 0) })
	s.Servers = summed(s.Servers, name, e.Servers, func(sum *results.ServerCount, c results.ServerCount) { sum.Add(c, 0) })
}

// summed returns a copy of the sums of all cases, to which the rows of a slice of one are added. All its slices have
// the same rows, but for a server that is lost: then the sums begin anew.
func summed[T any](all map[string][]T, name string, rows []T, add func(sum *T, row T)) map[string][]T {
	if rows == nil {
		return all
	}
	sum := slices.Clone(all[name])
	if len(sum) != len(rows) {
		sum = slices.Clone(rows)
	} else {
		for i, row := range rows {
			add(&sum[i], row)
		}
	}
	all = maps.Clone(all)
	if all == nil {
		all = map[string][]T{}
	}
	all[name] = sum
	return all
}

// Case returns a planned case by its name, or nil.
func (s *State) Case(name string) *bench.Planned {
	i := slices.IndexFunc(s.Cases, func(c bench.Planned) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Cases[i]
}

// Plan returns the plan in use in a case, and its dead links: for the current case those of now,
// for others those of their start.
func (s *State) Plan(c *bench.Planned) (*plan.Plan, []topology.Link) {
	switch {
	case c.Name != s.Last.Case:
		return c.Plan, c.Plan.Tree.Dead()
	case s.inUse != nil:
		return s.inUse, s.dead
	}
	return c.Plan, s.dead
}

// Took is how long the run has been measuring, at the last event.
func (s *State) Took() time.Duration {
	if s.since.IsZero() {
		return 0
	}
	return s.now.Sub(s.since)
}

// Left estimates the rest of the run, at the last event: the remaining measured parts, and for each
// the mean overhead of the slices so far. most: the run may end sooner, when the answer is
// resolved.
func (s *State) Left() (left time.Duration, most bool) {
	if s.Ended || len(s.Cases) == 0 {
		return 0, false
	}
	left = s.leftOfRound()
	if s.Last.Rounds == 0 {
		return max(left, s.Limit-s.Took()), true
	}
	if rounds := s.Last.Rounds - max(1, s.Last.Round); rounds > 0 {
		left += time.Duration(rounds) * s.sum(func(bench.Planned) bool { return true })
	}
	return left, false
}

func (s *State) leftOfRound() time.Duration {
	measured := map[string]bool{}
	for _, x := range s.Summary.Slices {
		if x.Round == s.Last.Round-1 {
			measured[x.Case] = true
		}
	}
	left := s.sum(func(c bench.Planned) bool { return !measured[c.Name] })
	some := left == 0 || s.Last.Count > 0 && s.Last.Count < len(s.Cases) // repeated slices, or a round of some cases
	if some {
		again := max(0, s.Last.Count-s.Last.Index-1)
		left = time.Duration(again) * s.sum(func(bench.Planned) bool { return true }) / time.Duration(len(s.Cases))
	}
	if _, done := s.Last.Event.(bench.Done); !done && !s.slice.IsZero() {
		if some {
			left += s.Last.Duration
		}
		left -= min(s.now.Sub(s.slice), s.Last.Duration+s.each())
	}
	return max(0, left)
}

func (s *State) sum(of func(bench.Planned) bool) (sum time.Duration) {
	for _, c := range s.Cases {
		if of(c) {
			sum += c.Duration + s.each()
		}
	}
	return sum
}

// each is the mean overhead of a slice beyond its measured part.
func (s *State) each() time.Duration {
	return s.beside / time.Duration(max(1, len(s.Summary.Slices)))
}

// page serves the page with the current state, which is readable without its script.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	parts, _, err := s.draw()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplate().Execute(w, viewOf(parts)) // the browser may have gone
}

// events sends a browser each part of the page that has changed, until the run ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	defer s.watching.Add(-1)
	if s.watching.Add(1) > mostWatching {
		http.Error(w, fmt.Sprintf("%d browsers follow this run already", mostWatching), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy in between
	if r.Method == http.MethodHead {
		return
	}
	out := stream{w, http.NewResponseController(w)}
	s.visiting.follows(r)
	sent := map[string]int{}
	for {
		changed := s.change()
		parts, last, err := s.draw()
		if err == nil {
			err = out.parts(parts, sent)
		}
		if err == nil && last {
			_ = out.event("end", nil) // the browser may have gone
			_ = out.control.Flush()
			return
		}
		if err == nil {
			err = s.next(r, out, changed)
		}
		if err != nil {
			return // the browser has gone, or will reconnect
		}
	}
}

// change returns a channel that is closed at the next change of the state.
func (s *Server) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

var errGone = errors.New("the browser is gone")

func (s *Server) next(r *http.Request, out stream, changed <-chan struct{}) error {
	early := time.NewTimer(pause)
	defer early.Stop()
	late := time.NewTicker(alive)
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case <-changed:
			waiting = false
		case <-late.C:
			if err := out.still(); err != nil {
				return err
			}
		case <-r.Context().Done():
			return errGone
		}
	}
	select {
	case <-early.C:
	case <-s.ending:
	case <-r.Context().Done():
		return errGone
	}
	return nil
}

// A stream is the server-sent events to one browser (HTML Living Standard, 9.2).
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s stream) parts(parts []part, sent map[string]int) error {
	for _, p := range parts {
		if sent[p.ID] == p.version {
			continue
		}
		if err := s.event("part", p); err != nil {
			return err
		}
		sent[p.ID] = p.version
	}
	return s.control.Flush()
}

func (s stream) event(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(patience)) // of anything in between
	_, err = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, text)
	return err
}

func (s stream) still() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprint(s.w, ":\n\n"); err != nil {
		return err
	}
	return s.control.Flush()
}

// mostVisiting is the most connections that do not follow the run. A run needs its files for
// itself, and anyone with access to the address may connect.
const mostVisiting = 32

// A crowd is the connections that do not follow the run. If there are too many, the one idle for
// longest is closed.
type crowd struct {
	mu   sync.Mutex
	turn int
	last map[net.Conn]int // turn of its last begin or end of an activity
}

// moved records a new state of a connection: http.Server.ConnState.
func (c *crowd) moved(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == http.StateClosed || s == http.StateHijacked {
		delete(c.last, conn)
		return
	}
	c.turn++
	c.last[conn] = c.turn
	if len(c.last) > mostVisiting {
		c.dismiss()
	}
}

// dismiss closes the connection that has been idle for longest; c.mu is held. Its handler sees the
// end of the connection.
func (c *crowd) dismiss() {
	var first net.Conn
	for conn, turn := range c.last {
		if first == nil || turn < c.last[first] {
			first = conn
		}
	}
	delete(c.last, first)
	_ = first.Close()
}

// follows takes the connection of a request that now follows the run out of the crowd. When the
// request ends, the connection changes state and is in the crowd again.
func (c *crowd) follows(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, r.Context().Value(connection{}).(net.Conn))
}

// connection is the context key of a request's connection.
type connection struct{}
