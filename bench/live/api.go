package live

import (
	"encoding/json"
	"io"
	"net/http"

	"evbench/bench"
	"evbench/results"
)

func (s *Server) api(write func(io.Writer, *State) error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = write(w, s.snapshot()) // whoever asked may be gone
	}
}

const progressSchema = "evbench/progress/1"

// A progressDocument says where the run stands. Times are seconds.
type progressDocument struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Ended  bool   `json:"ended"`
	Stage  string `json:"stage"` // "": the run has not begun
	Case   string `json:"case,omitempty"`
	Round  int    `json:"round"`  // from 1
	Rounds int    `json:"rounds"` // 0: until the answer is resolved
	// The slice under way is number Slice of Slices of the round, from 1.
	Slice       int     `json:"slice"`
	Slices      int     `json:"slices"`
	ElapsedSec  float64 `json:"elapsed_s"`  // of the measured part of the slice
	DurationSec float64 `json:"duration_s"` // of it, as planned
	// EventsPerSec is of one server, the mean over all, in the slice so far, Interval in its last interval.
	EventsPerSec float64            `json:"events_per_s"`
	Interval     float64            `json:"interval_events_per_s"`
	TookSec      float64            `json:"took_s"`       // by the run
	LeftSec      float64            `json:"left_s"`       // about
	AtMost       bool               `json:"left_at_most"` // it may be over sooner
	Dead         []string           `json:"dead"`         // links that are dead now
	Failovers    []failoverDocument `json:"failovers"`
}

type failoverDocument struct {
	Case   string `json:"case"`
	Repeat int    `json:"repeat"`
	results.Failover
}

func writeProgress(w io.Writer, s *State) error {
	p := s.Last
	rate, _ := p.Event.(bench.Measuring)
	d := progressDocument{
		Schema: progressSchema, Ended: s.Ended, Stage: p.Stage(), Case: p.Case, Round: p.Round, Rounds: p.Rounds,
		ElapsedSec: rate.Elapsed.Seconds(), DurationSec: p.Duration.Seconds(), EventsPerSec: rate.EventsPerSec, Interval: rate.Interval, TookSec: s.Took().Seconds(),
		Dead: []string{}, Failovers: []failoverDocument{},
	}
	left, most := s.Left()
	d.LeftSec, d.AtMost = left.Seconds(), most
	if s.Manifest != nil {
		d.Name = s.Manifest.Name
	}
	if c := s.Case(p.Case); c != nil {
		now, dead := s.Plan(c)
		d.Slice, d.Slices, d.Dead = p.Index+1, p.Count, now.Tree.LinkNames(dead)
	}
	for _, f := range s.Failovers {
		d.Failovers = append(d.Failovers, failoverDocument{f.Case, f.Repeat, f})
	}
	return json.NewEncoder(w).Encode(d)
}

func writeSummary(w io.Writer, s *State) error {
	sum := s.Summary
	if sum.Schema == "" {
		sum = results.Summary{Schema: results.SummarySchema, Cases: []results.Case{}}
	}
	return sum.Write(w)
}

// writeManifest writes what manifest.json was when the run began, null before.
func writeManifest(w io.Writer, s *State) error {
	if s.Manifest == nil {
		_, err := io.WriteString(w, "null\n")
		return err
	}
	return s.Manifest.Write(w)
}

// writeLinks writes what links have carried so far, over all slices of each case, which are repeat 0.
func writeLinks(w io.Writer, s *State) error {
	all := []results.LinkCount{}
	for _, c := range s.Cases {
		all = append(all, s.Links[c.Name]...)
	}
	return json.NewEncoder(w).Encode(struct {
		Schema string              `json:"schema"`
		Links  []results.LinkCount `json:"links"`
	}{"evbench/links/1", all})
}
