package trace

import (
	"bufio"
	"cmp"
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
		if count[x.Name] > 1 { // a summary does not say of which slice each is
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

// A chrome writes events, and keeps the first that cannot be.
type chrome struct {
	*bufio.Writer
	separator string // of what was written
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
