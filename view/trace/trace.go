// Package trace answers: what did the servers of a traced slice do when, and which phases, pairs
// and links took longer than predicted? It puts spans of several servers on one clock, writes them
// as a trace for Chrome and Perfetto, and compares them with the plan. It opens no file.
package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"evbench/internal/lists"
	"evbench/results"
)

// A Slice is the trace of one slice of a case.
type Slice struct {
	Case   string
	Repeat int
	Spans  []results.Span // by server and begin
	// Shift is, by server, the seconds by which its clock was moved later.
	Shift map[int]float64
}

// Servers returns the positions of the servers that have spans, rising.
func (s *Slice) Servers() []int {
	seen := map[int]bool{}
	for _, x := range s.Spans {
		seen[x.Server] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Split sorts spans into slices, by case in order of appearance, and repeat, and aligns the clocks
// of each slice.
func Split(spans []results.Span) []*Slice {
	at, order := map[results.SliceID]*Slice{}, map[string]int{}
	var out []*Slice
	for _, x := range spans {
		k := results.SliceID{Case: x.Case, Repeat: x.Repeat}
		if _, known := order[k.Case]; !known {
			order[k.Case] = len(order)
		}
		s := at[k]
		if s == nil {
			s = &Slice{Case: x.Case, Repeat: x.Repeat}
			at[k], out = s, append(out, s)
		}
		s.Spans = append(s.Spans, x)
	}
	slices.SortStableFunc(out, func(a, b *Slice) int {
		return cmp.Or(order[a.Case]-order[b.Case], a.Repeat-b.Repeat)
	})
	for _, s := range out {
		s.align()
		slices.SortStableFunc(s.Spans, func(a, b results.Span) int {
			return cmp.Or(a.Server-b.Server, cmp.Compare(a.BeginSec, b.BeginSec))
		})
	}
	return out
}

// align puts the servers' clocks together. Each starts when the server was told to count, at
// slightly different moments; but all leave a barrier together. The shift of a server is the median
// over barriers of how much sooner it left them, by its clock, than the mean of all. Without
// barriers clocks stay as they are.
func (s *Slice) align() {
	type barrier struct {
		exchange uint64
		phase    int
	}
	sum, n := map[barrier]float64{}, map[barrier]int{}
	for _, x := range s.Spans {
		if x.What == results.SpanBarrier {
			k := barrier{x.Exchange, x.Phase}
			sum[k] += x.EndSec
			n[k]++
		}
	}
	all := len(s.Servers())
	ahead := map[int][]float64{}
	for _, x := range s.Spans {
		if k := (barrier{x.Exchange, x.Phase}); x.What == results.SpanBarrier && n[k] == all {
			ahead[x.Server] = append(ahead[x.Server], sum[k]/float64(all)-x.EndSec)
		}
	}
	s.Shift = map[int]float64{}
	for server, list := range ahead {
		s.Shift[server] = results.NewStat(list).Median
	}
	for i := range s.Spans {
		x := &s.Spans[i]
		x.BeginSec += s.Shift[x.Server]
		x.EndSec += s.Shift[x.Server]
	}
}

// A phase is when it began, when its last transfer ended, and when all had left its barrier.
type phase struct {
	begin, transfers, barrier float64
	last                      PairOf // whose fragment came last
	received                  map[PairOf]float64
	came                      float64
	barriers                  int
}

// An exchange has its phases, in order.
type exchange struct {
	number uint64
	phases []phase
}

// exchanges returns the exchanges for which the trace has all barriers of all servers, in order.
func (s *Slice) exchanges(phases, servers int) []exchange {
	all := map[uint64][]phase{}
	for _, x := range s.Spans {
		if x.Phase < 0 || x.Phase >= phases {
			continue
		}
		e := all[x.Exchange]
		if e == nil {
			e = lists.Tabulate(phases, func(int) phase { return phase{begin: x.BeginSec, received: map[PairOf]float64{}} })
			all[x.Exchange] = e
		}
		e[x.Phase].add(x)
	}
	var out []exchange
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(all[n], func(p phase) bool { return p.barriers != servers }) {
			out = append(out, exchange{n, all[n]})
		}
	}
	return out
}

func (p *phase) add(x results.Span) {
	if p.barriers == 0 && p.transfers == 0 || x.BeginSec < p.begin {
		p.begin = x.BeginSec
	}
	switch x.What {
	case results.SpanBarrier:
		p.barriers++
		p.barrier = max(p.barrier, x.EndSec)
		p.transfers = max(p.transfers, x.BeginSec)
	case results.SpanReceive:
		pair := PairOf{x.Peer, x.Server}
		p.received[pair] = x.EndSec - x.BeginSec
		p.transfers = max(p.transfers, x.EndSec)
		if x.EndSec > p.came {
			p.came, p.last = x.EndSec, pair
		}
	case results.SpanSend:
		p.transfers = max(p.transfers, x.EndSec)
	}
}

// An event of the Trace Event Format, as Chrome and Perfetto read it ("Trace Event
// Format", JSON object form; times in microseconds).
type event struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"` // X: complete, i: instant, M: about a process or thread
	TS   float64        `json:"ts"`
	Dur  *float64       `json:"dur,omitempty"`
	PID  int            `json:"pid"`
	TID  int            `json:"tid"`
	S    string         `json:"s,omitempty"` // scope of an instant
	Args map[string]any `json:"args,omitempty"`
}

// Tracks of a slice beside those of its servers, whose numbers are positions.
const (
	linksTrack    = 1_000_000
	failoverTrack = linksTrack + 1
)

// WriteChrome writes slices as JSON for chrome://tracing and Perfetto: a process for each slice, a
// track for each server, and, if a case has any, one for its link events and one for the steps of
// fail-over. For a case with several slices these are a process of their own.
func WriteChrome(w io.Writer, slices []*Slice, cases []results.Case) error {
	c := &chrome{Writer: bufio.NewWriter(w), separator: `{"displayTimeUnit":"ms","traceEvents":[`}
	last := map[string]int{} // number of the last slice of a case
	count := map[string]int{}
	for i, s := range slices {
		c.slice(i+1, s)
		last[s.Case] = i + 1
		count[s.Case]++
	}
	for i, x := range cases {
		if count[x.Name] == 0 || len(x.LinkEvents)+len(x.Failovers) == 0 {
			continue
		}
		pid := last[x.Name]
		if count[x.Name] > 1 { // a summary does not name the slice of each
			pid = len(slices) + 1 + i
			c.name("process_name", pid, 0, x.Name+", links of all slices")
		}
		c.beside(pid, x)
	}
	if c.separator != "," {
		c.WriteString(c.separator)
	}
	c.WriteString("\n]}\n")
	return cmp.Or(c.err, c.Flush())
}

// A chrome writes events, and keeps the first error.
type chrome struct {
	*bufio.Writer
	separator string // before the next event
	err       error
}

func (c *chrome) put(e event) {
	text, err := json.Marshal(e)
	c.err = cmp.Or(c.err, err)
	fmt.Fprintf(c, "%s\n%s", c.separator, text)
	c.separator = ","
}

func micro(sec float64) float64 { return float64(int64(sec*1e9+0.5)) / 1e3 }

func (c *chrome) name(what string, pid, tid int, name string) {
	c.put(event{Name: what, Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
}

func (c *chrome) slice(pid int, s *Slice) {
	c.name("process_name", pid, 0, fmt.Sprintf("%s, slice %d", s.Case, s.Repeat))
	for _, server := range s.Servers() {
		c.name("thread_name", pid, server, fmt.Sprintf("server%d", server))
	}
	for _, x := range s.Spans {
		dur := micro(max(x.EndSec-x.BeginSec, 0))
		e := event{Name: title(x), Cat: x.What.String(), Ph: "X", TS: micro(max(x.BeginSec, 0)), Dur: &dur, PID: pid, TID: x.Server}
		e.Args = map[string]any{"exchange": x.Exchange}
		if x.Phase >= 0 {
			e.Args["phase"] = x.Phase
		}
		if x.Peer >= 0 {
			e.Args["peer"] = fmt.Sprintf("server%d", x.Peer)
		}
		c.put(e)
	}
}

// title is the name of a span on its track.
func title(x results.Span) string {
	switch {
	case x.What == results.SpanExchange || x.What == results.SpanEvent:
		return fmt.Sprintf("%s %d", x.What, x.Exchange)
	case x.What == results.SpanSend || x.What == results.SpanTokens:
		return fmt.Sprintf("%s to %d", x.What, x.Peer)
	case x.Peer >= 0:
		return fmt.Sprintf("%s from %d", x.What, x.Peer)
	}
	return x.What.String()
}

// beside writes link events and steps of fail-over, on tracks of their own.
func (c *chrome) beside(pid int, x results.Case) {
	c.name("thread_name", pid, linksTrack, "links")
	for _, l := range x.LinkEvents {
		name := l.Link + " down"
		if l.Up {
			name = l.Link + " up"
		}
		c.put(event{Name: name, Cat: "link", Ph: "i", S: "p", TS: micro(l.TSec), PID: pid, TID: linksTrack})
	}
	if len(x.Failovers) > 0 {
		c.name("thread_name", pid, failoverTrack, "fail-over")
	}
	for _, f := range x.Failovers {
		last := f.SeenSec
		for _, step := range []struct {
			name string
			end  *float64
		}{
			{"first aid", f.AidedSec}, {"plan", f.PlannedSec}, {"verify", f.VerifiedSec}, {"install", f.InstalledSec},
			{"update workers", f.UpdatedSec}, {"last exchange on the old plan", f.LastOldSec}, {"first exchange on the new plan", f.FirstNewSec},
			{"clean", f.CleanedSec},
		} {
			if step.end == nil || last == nil || *step.end < *last {
				continue
			}
			dur := micro(*step.end - *last)
			c.put(event{Name: step.name, Cat: "fail-over", Ph: "X", TS: micro(*last), Dur: &dur, PID: pid, TID: failoverTrack,
				Args: map[string]any{"id": f.ID, "dead": f.Dead}})
			last = step.end
		}
	}
}
