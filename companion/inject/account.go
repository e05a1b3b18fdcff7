package inject

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Account is what there is to say of links that are brought up after a run.
type Account struct {
	Schema  string `json:"schema"`
	Journal string `json:"journal"`
	Host    string `json:"host,omitempty"` // of the run
	Dir     string `json:"dir,omitempty"`  // where commands are run
	Links   []Row  `json:"links"`
	Torn    string `json:"torn,omitempty"`

	DryRun bool `json:"-"` // nothing is run
}

// A Row is what an account says of a link.
type Row struct {
	Link    string    `json:"link"`
	Since   time.Time `json:"down_since"`
	Outcome string    `json:"outcome"`
	Up      string    `json:"up"`    // the command that brings it up
	Probe   []string  `json:"probe"` // those that look at it
	Error   string    `json:"error,omitempty"`
}

const dryRun = "dry run"

func rowOf(p Pending, outcome string) Row {
	row := Row{Link: p.link.String(), Since: p.since, Outcome: outcome, Up: p.Up.String()}
	for _, probe := range p.Probe {
		row.Probe = append(row.Probe, probe.String())
	}
	return row
}

func (l Row) commands() string {
	return fmt.Sprintf("%s: look: %s\n%s: up:   %s\n", l.Link, strings.Join(l.Probe, "; or "), l.Link, l.Up)
}

// String is a row for people.
func (l Row) String() string {
	s := fmt.Sprintf("%s: %s (taken down at %s)", l.Link, l.Outcome, l.Since.UTC().Format(time.RFC3339))
	if l.Error != "" {
		s += ": " + l.Error
	}
	return s
}

// NewAccount returns the account of a journal of which nothing is known yet.
func NewAccount(journal string, dry bool) *Account {
	return &Account{Schema: "evbench/failures-restore/1", Journal: journal, Links: []Row{}, DryRun: dry}
}

// Begin returns in words what will be run, before it is; of a dry run that is the account.
func (a *Account) Begin(h Header, pending []Pending) string {
	a.Dir = h.Dir
	if len(pending) == 0 {
		return ""
	}
	text := fmt.Sprintf("journal %s: to be run in %s:\n", a.Journal, strconv.Quote(h.Dir))
	for _, p := range pending {
		row := rowOf(p, dryRun)
		if text += row.commands(); a.DryRun {
			a.Links = append(a.Links, row)
		}
	}
	return text
}

// Add adds what came of a link.
func (a *Account) Add(l Restored) Row {
	row := rowOf(l.Pending, l.outcome)
	if l.err != nil {
		row.Error = l.err.Error()
	}
	a.Links = append(a.Links, row)
	return row
}

// Failed reports whether links are still down.
func (a *Account) Failed() bool {
	return slices.ContainsFunc(a.Links, func(l Row) bool { return l.Error != "" })
}

// WriteJSON writes one document, schema evbench/failures-restore/1.
func (a *Account) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(a) }

// Notes are what is odd about the journal on this host; an empty one is not known.
func (a *Account) Notes(host string) (notes []string) {
	if a.Torn != "" {
		notes = append(notes, fmt.Sprintf("journal %s: its last line is unfinished and was passed over: "+
			"the machine stopped while it was written, before the link was touched", a.Journal))
	}
	ran := "have run"
	if a.DryRun {
		ran = "would run"
	}
	if host != "" && a.Host != "" && a.Host != host {
		notes = append(notes, fmt.Sprintf("journal %s: it was written on %s; its commands %s here", a.Journal, a.Host, ran))
	}
	return notes
}
