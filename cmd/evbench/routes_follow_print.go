package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"evbench/companion/opensm"
	"evbench/failover"
	"evbench/internal/show"
	"evbench/topology"
)

// A followPrinter prints one line for each thing that was seen or done.
type followPrinter struct {
	w     io.Writer
	json  bool
	begin time.Time // time 0 of records
	mu    sync.Mutex
}

// A followStep is a line of --json. Times are seconds.
type followStep struct {
	Schema string        `json:"schema"`
	Time   time.Time     `json:"time"`
	Step   string        `json:"step"`
	TookS  float64       `json:"took_s,omitempty"`
	Error  string        `json:"error,omitempty"`
	Change *followChange `json:"change,omitempty"`
}

// A followChange is the story of one change: seconds since the first event of it, 0 where
// that did not happen.
type followChange struct {
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

func (p *followPrinter) line(s followStep) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Schema = "evbench/routes-follow/1"
	if p.json {
		_ = json.NewEncoder(p.w).Encode(s) // nobody reads any more: the tables are kept all the same
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

// step prints a step of the subnet.
func (p *followPrinter) step(s opensm.Step) {
	out := followStep{Time: s.At, Step: s.What, TookS: s.Took.Seconds()}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	p.line(out)
}

// took prints what this program has done.
func (p *followPrinter) took(what string, took time.Duration) {
	p.line(followStep{Time: time.Now(), Step: what, TookS: took.Seconds()})
}

func deadText(dead []string) string {
	if len(dead) == 0 {
		return "the whole network"
	}
	return "the network without " + show.Few(dead)
}

// record prints the end of a story.
func (p *followPrinter) record(r failover.Record) {
	c := changeOf(r)
	p.line(followStep{Time: time.Now(), Step: c.text(r), Error: followTrouble(r), Change: c})
}

func changeOf(r failover.Record) *followChange {
	since := func(at time.Duration) float64 {
		if at == 0 {
			return 0
		}
		return (at - r.Seen).Seconds()
	}
	return &followChange{
		ID: r.ID, Down: topology.LinkNames(r.Down), Up: topology.LinkNames(r.Up), Dead: topology.LinkNames(r.Dead), Held: topology.LinkNames(r.Held),
		Source: string(r.Source), Phases: r.Phases, PlannedS: since(r.Planned), VerifiedS: since(r.Verified), InstalledS: since(r.Installed),
		Entries: r.InstallRoutes, Attempts: r.Attempts, Superseded: r.Superseded,
	}
}

// text says what has changed and what came of it.
func (c *followChange) text(r failover.Record) string {
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

func followTrouble(r failover.Record) string {
	if r.Disjoint != "" {
		return r.Disjoint
	}
	return r.Err
}
