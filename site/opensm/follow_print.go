package opensm

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"evbench/failover"
	"evbench/internal/show"
	"evbench/topology"
)

// A Printer prints one line for each observation and action.
type Printer struct {
	w    io.Writer
	json bool
	tree *topology.Tree // the followed tree
	mu   sync.Mutex
}

// A Line is a line of JSON. Times are seconds.
type Line struct {
	Schema string    `json:"schema"`
	Time   time.Time `json:"time"`
	Step   string    `json:"step"`
	TookS  float64   `json:"took_s,omitempty"`
	Error  string    `json:"error,omitempty"`
	Change *Change   `json:"change,omitempty"`
}

// A Change is the reaction to links that changed: seconds since its first event, 0 for steps that
// did not happen.
type Change struct {
	ID         int      `json:"id"`
	Down       []string `json:"down"`
	Up         []string `json:"up"`
	Dead       []string `json:"dead"`
	Held       []string `json:"held"`
	Source     string   `json:"source,omitempty"`
	Phases     int      `json:"phases,omitempty"`
	PlannedS   float64  `json:"planned_s,omitempty"`
	VerifiedS  float64  `json:"verified_s,omitempty"`
	InstalledS float64  `json:"installed_s,omitempty"`
	Entries    int      `json:"lft_entries_changed"`
	Attempts   int      `json:"attempts"`
	Superseded bool     `json:"superseded"`
}

// NewPrinter returns a printer of text, or of JSON documents, one a line.
func NewPrinter(w io.Writer, json bool) *Printer { return &Printer{w: w, json: json} }

func (p *Printer) line(s Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Schema = "evbench/routes-follow/1"
	if p.json {
		_ = json.NewEncoder(p.w).Encode(s) // the reader may have exited: the tables are kept all the same
		return
	}
	took := ""
	if s.TookS > 0 {
		took = fmt.Sprintf(", took %.1f ms", 1000*s.TookS)
	}
	if s.Error != "" {
		took += ": " + s.Error
	}
	fmt.Fprintf(p.w, "%s  %s%s\n", s.Time.Format("2006-01-02 15:04:05.000"), s.Step, took)
}

func (p *Printer) Step(s Step) {
	out := Line{Time: s.At, Step: s.What, TookS: s.Took.Seconds()}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	p.line(out)
}

func (p *Printer) took(what string, took time.Duration) {
	p.line(Line{Time: time.Now(), Step: what, TookS: took.Seconds()})
}

func deadText(dead []string) string {
	if len(dead) == 0 {
		return "the whole network"
	}
	return "the network without " + show.Few(dead)
}

func (p *Printer) record(r failover.Record) {
	c := changeOf(&p.tree.Live, r)
	p.line(Line{Time: time.Now(), Step: c.text(r), Error: trouble(r), Change: c})
}

func changeOf(t *topology.Live, r failover.Record) *Change {
	since := func(at time.Duration) float64 {
		if at == 0 {
			return 0
		}
		return (at - r.Seen).Seconds()
	}
	return &Change{
		ID: r.ID, Down: t.LinkNames(r.Down), Up: t.LinkNames(r.Up), Dead: t.LinkNames(r.Dead), Held: t.LinkNames(r.Held),
		Source: string(r.Source), Phases: r.Phases, PlannedS: since(r.Planned), VerifiedS: since(r.Verified), InstalledS: since(r.Installed),
		Entries: r.InstallRoutes, Attempts: r.Attempts, Superseded: r.Superseded,
	}
}

func (c *Change) text(r failover.Record) string {
	var parts []string
	if len(c.Down) > 0 {
		parts = append(parts, show.Few(c.Down)+" down")
	}
	if len(c.Up) > 0 {
		parts = append(parts, show.Few(c.Up)+" up")
	}
	if len(c.Held) > 0 {
		parts = append(parts, show.Few(c.Held)+" up and held out")
	}
	switch {
	case c.Superseded:
		parts = append(parts, "overtaken by another change")
	case r.Installed > 0:
		parts = append(parts, fmt.Sprintf("plan in place %.1f ms after the first event, %s entries changed",
			1000*c.InstalledS, show.Commas(c.Entries)))
	default:
		parts = append(parts, "NOTHING NEW IN PLACE")
	}
	return fmt.Sprintf("change %d: %s", c.ID, strings.Join(parts, "; "))
}

func trouble(r failover.Record) string {
	if r.Disjoint != "" {
		return r.Disjoint
	}
	return r.Err
}
