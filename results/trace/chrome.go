package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"evbench/results"
)

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

// WriteChrome writes slices as JSON for chrome://tracing and Perfetto: a process for each
// slice, a track for each server, and where a case has any, one for its link events and
// one for the steps of fail-over; of a case with several slices these are a process of their own.
func WriteChrome(w io.Writer, slices []*Slice, cases []results.Case) error {
	b := bufio.NewWriter(w)
	b.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`)
	first := true
	put := func(e event) error {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteByte('\n')
		_, err = b.Write(text)
		return err
	}
	last := map[string]int{} // number of the last slice of a case
	count := map[string]int{}
	for i, s := range slices {
		if err := s.chrome(i+1, put); err != nil {
			return err
		}
		last[s.Case] = i + 1
		count[s.Case]++
	}
	for i, c := range cases {
		if count[c.Name] == 0 || len(c.LinkEvents)+len(c.Failovers) == 0 {
			continue
		}
		pid := last[c.Name]
		if count[c.Name] > 1 { // a summary does not say of which slice each is
			pid = len(slices) + 1 + i
			if err := put(named("process_name", pid, 0, c.Name+", links of all slices")); err != nil {
				return err
			}
		}
		if err := beside(pid, c, put); err != nil {
			return err
		}
	}
	b.WriteString("\n]}\n")
	return b.Flush()
}

func micro(sec float64) float64 { return float64(int64(sec*1e9+0.5)) / 1e3 }

func named(what string, pid, tid int, name string) event {
	return event{Name: what, Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}}
}

// chrome puts the tracks of the servers.
func (s *Slice) chrome(pid int, put func(event) error) error {
	if err := put(named("process_name", pid, 0, fmt.Sprintf("%s, slice %d", s.Case, s.Repeat))); err != nil {
		return err
	}
	for _, server := range s.Servers() {
		if err := put(named("thread_name", pid, server, fmt.Sprintf("server%d", server))); err != nil {
			return err
		}
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
		if err := put(e); err != nil {
			return err
		}
	}
	return nil
}

// title is what a span is called on its track.
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

// beside puts link events and steps of fail-over, on tracks of their own.
func beside(pid int, c results.Case, put func(event) error) error {
	err := put(named("thread_name", pid, linksTrack, "links"))
	for _, l := range c.LinkEvents {
		name := l.Link + " down"
		if l.Up {
			name = l.Link + " up"
		}
		if err == nil {
			err = put(event{Name: name, Cat: "link", Ph: "i", S: "p", TS: micro(l.TSec), PID: pid, TID: linksTrack})
		}
	}
	if len(c.Failovers) > 0 && err == nil {
		err = put(named("thread_name", pid, failoverTrack, "fail-over"))
	}
	for _, f := range c.Failovers {
		last := f.SeenSec
		for _, step := range steps(f) {
			if step.at == nil || last == nil || *step.at < *last || err != nil {
				continue
			}
			dur := micro(*step.at - *last)
			err = put(event{Name: step.name, Cat: "fail-over", Ph: "X", TS: micro(*last), Dur: &dur, PID: pid, TID: failoverTrack,
				Args: map[string]any{"id": f.ID, "dead": f.Dead}})
			last = step.at
		}
	}
	return err
}

type step struct {
	name string
	at   *float64 // its end
}

// steps of a fail-over, in their order.
func steps(f results.Failover) []step {
	return []step{
		{"first aid", f.AidedSec}, {"plan", f.PlannedSec}, {"verify", f.VerifiedSec}, {"install", f.InstalledSec},
		{"update workers", f.UpdatedSec}, {"last exchange on the old plan", f.LastOldSec}, {"first exchange on the new plan", f.FirstNewSec},
		{"clean", f.CleanedSec},
	}
}
