package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// An Account reports on links that are brought up after a run.
type Account struct {
	Schema  string `json:"schema"`
	Journal string `json:"journal"`
	Host    string `json:"host,omitempty"` // of the run
	Dir     string `json:"dir,omitempty"`  // directory of commands
	Links   []Row  `json:"links"`
	// Torn is the unfinished last line of the journal: the machine died during the write, before
	// the link was touched.
	Torn string `json:"torn,omitempty"`

	dry    bool // run nothing
	found  bool // the journal
	listed int  // links in it
}

type Row struct {
	Link    string    `json:"link"`
	Since   time.Time `json:"down_since"`
	Outcome string    `json:"outcome"`
	Up      string    `json:"up"`    // the command that brings the link up
	Probe   []string  `json:"probe"` // the commands that check the link
	Error   string    `json:"error,omitempty"`
}

// The outcomes of a link.
const (
	dryRun    = "dry run" // nothing was run
	broughtUp = "brought up"
	wasUp     = "was up"
	stillDown = "still down"
)

func (l Row) String() string {
	s := fmt.Sprintf("%s: %s (taken down at %s)", l.Link, l.Outcome, stamp(l.Since))
	if l.Error != "" {
		s += ": " + l.Error
	}
	return s
}

// Restore brings up the links that a journal lists as down, and removes the journal when all are
// up. It tells show in words what it will run, which is all in a dry run. A missing journal has no links to bring up. A journal that others than the user or
// root may have written is a *trust.Error.
func Restore(ctx context.Context, path string, dry bool, show func(string)) (a *Account, err error) {
	a = &Account{Schema: "evbench/failures-restore/1", Journal: path, Links: []Row{}, dry: dry}
	j, err := openJournal(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	a.Host, a.Dir, a.Torn, a.found, a.listed = j.By.Host, j.By.Dir, j.torn, true, len(j.Down)
	text := fmt.Sprintf("journal %s: to be run in %s:\n", path, strconv.Quote(j.By.Dir))
	var rows []Row
	for _, p := range j.Down {
		l := Row{Link: p.called(), Since: p.Since, Outcome: dryRun, Up: p.Up.String(), Probe: lists.Map(p.Probe, Program.String)}
		rows = append(rows, l)
		text += fmt.Sprintf("%s: look: %s\n%s: up:   %s\n", l.Link, strings.Join(l.Probe, "; or "), l.Link, l.Up)
	}
	if len(rows) > 0 {
		show(text)
	}
	if dry {
		a.Links = append(a.Links, rows...)
		return a, j.file.Close()
	}
	defer func() { err = errors.Join(err, j.close()) }()
	if j.torn != "" {
		if err := j.write(j.state); err != nil {
			return a, err
		}
	}
	for i, p := range slices.Clone(j.Down) {
		row := rows[i]
		if err := restore(ctx, operator{j.By}, p, &row); err != nil {
			return a, err
		}
		if row.Error == "" {
			if err := j.up(p.Link.Link); err != nil {
				return a, err
			}
		}
		a.Links = append(a.Links, row)
	}
	return a, nil
}

// restore brings one link up. It returns an error only when ctx has ended.
func restore(ctx context.Context, o operator, p Pending, row *Row) error {
	row.Outcome = wasUp
	a, err := o.probe(ctx, p.Probe)
	if err != nil || a.state == linkUp {
		return err
	}
	row.Outcome = broughtUp
	if err = o.raise(ctx, p.called(), p.Remedy); err != nil && ctx.Err() == nil {
		row.Outcome, row.Error = stillDown, err.Error()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// WriteText writes a line a link.
func (a *Account) WriteText(w io.Writer) error {
	for _, l := range a.Links {
		if _, err := fmt.Fprintln(w, l); err != nil {
			return err
		}
	}
	return nil
}

// Failed reports whether links are still down.
func (a *Account) Failed() bool {
	return slices.ContainsFunc(a.Links, func(l Row) bool { return l.Error != "" })
}

// Answer says whether the links of the journal are up.
func (a *Account) Answer() answer.Answer {
	var e answer.Evidence
	down := lists.Filter(a.Links, func(l Row) bool { return l.Error != "" })
	raised := lists.CountIf(a.Links, func(l Row) bool { return l.Outcome == broughtUp })
	f := answer.Finding{Text: fmt.Sprintf("all links of journal %s are up: %d brought up now, %d were up", a.Journal, raised, a.listed-raised), Place: answer.At}
	switch {
	case !a.found:
		f.Text = fmt.Sprintf("no link is listed as down: there is no journal %s", a.Journal)
	case a.listed == 0:
		f.Text = fmt.Sprintf("journal %s lists no link that is down", a.Journal)
	case len(down) > 0:
		f = answer.Finding{Text: fmt.Sprintf("of %s, %d still down", show.Plural(a.listed, "link", "links"), len(down)), Place: answer.Below, Cause: down[0].Error}
	case a.dry:
		f.Text = fmt.Sprintf("%s down by journal %s", show.Plural(a.listed, "link is", "links are"), a.Journal)
		f.Doubts = []answer.Doubt{{Text: "this was a dry run, nothing was looked at"}}
	case len(a.Links) < a.listed:
		f.Text = ""
		f.Doubts = []answer.Doubt{{Text: fmt.Sprintf("interrupted after %d of %s", len(a.Links), show.Plural(a.listed, "link", "links"))}}
	}
	e.Findings = []answer.Finding{f}
	return answer.Decide(answer.Restore, e)
}

// Notes lists irregularities of the journal on this host; "" is an unknown host.
func (a *Account) Notes(host string) (notes []string) {
	if a.Torn != "" {
		notes = append(notes, fmt.Sprintf("journal %s: its last line is unfinished and was passed over: "+
			"the machine stopped while it was written, before the link was touched", a.Journal))
	}
	ran := "have run"
	if a.dry {
		ran = "would run"
	}
	if host != "" && a.Host != "" && a.Host != host {
		notes = append(notes, fmt.Sprintf("journal %s: it was written on %s; its commands %s here", a.Journal, a.Host, ran))
	}
	return notes
}
