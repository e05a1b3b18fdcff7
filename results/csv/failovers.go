package csv

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/results"
)

// FailoversFile is what was done about links that died or came back; only runs that did
// something have it. summary.json has the same.
const FailoversFile = "failovers.csv"

var failoverColumns = []string{
	"case", "repeat", "id", "down", "up", "dead", "held",
	"set_s", "seen_s", "aided_s", "planned_s", "verified_s", "installed_s", "updated_s", "last_old_s", "first_new_s", "cleaned_s",
	"source", "phases", "plan_hash", "from_exchange", "routes_changed", "attempts", "superseded", "reason",
	"before_events_per_s", "during_events_per_s", "after_events_per_s",
}

// failoverRow is one line of failovers.csv: seconds to the microsecond, empty what is
// not known or did not happen, and lists joined by spaces.
func failoverRow(f results.Failover) []string {
	row := []string{
		f.Case, strconv.Itoa(f.Repeat), strconv.Itoa(f.ID),
		strings.Join(f.Down, " "), strings.Join(f.Up, " "), strings.Join(f.Dead, " "), strings.Join(f.Held, " "),
	}
	for _, t := range times(&f) {
		row = append(row, ifKnown(*t))
	}
	row = append(row,
		f.Source, strconv.Itoa(f.Phases), f.PlanHash, number(f.From), strconv.Itoa(f.Routes), strconv.Itoa(f.Attempts),
		strconv.FormatBool(f.Superseded), f.Reason)
	for _, r := range rates(&f) {
		row = append(row, ifKnown(*r))
	}
	return row
}

func ifKnown(x *float64) string {
	if x == nil {
		return ""
	}
	return seconds(*x)
}

// times are those of a fail-over, in the order of the columns.
func times(f *results.Failover) []**float64 {
	return []**float64{
		&f.SetSec, &f.SeenSec, &f.AidedSec, &f.PlannedSec, &f.VerifiedSec, &f.InstalledSec, &f.UpdatedSec, &f.LastOldSec,
		&f.FirstNewSec, &f.CleanedSec,
	}
}

func rates(f *results.Failover) []**float64 {
	return []**float64{&f.BeforeEventsPerSec, &f.DuringEventsPerSec, &f.AfterEventsPerSec}
}

// ReadFailovers reads failovers.csv. Errors name line and column.
func ReadFailovers(r io.Reader) ([]results.Failover, error) {
	var out []results.Failover
	err := rows(r, failoverColumns, func(p *parser) {
		f := results.Failover{
			Case: p.text(0), Repeat: p.int(1), ID: p.int(2),
			Down: p.list(3), Up: p.list(4), Dead: p.list(5), Held: p.list(6),
			Source: p.text(17), Phases: p.int(18), PlanHash: p.text(19), From: p.uint(20), Routes: p.int(21), Attempts: p.int(22),
			Superseded: p.bool(23), Reason: p.text(24),
		}
		for i, t := range times(&f) {
			if p.text(7+i) != "" {
				v := p.moment(7 + i)
				*t = &v
			}
		}
		for i, r := range rates(&f) {
			if p.text(25+i) != "" {
				v := p.float(25 + i)
				*r = &v
			}
		}
		out = append(out, f)
	})
	return out, err
}

// list reads texts that are joined by spaces.
func (p *parser) list(i int) []string {
	list := strings.Fields(p.row[i])
	for k, s := range list {
		list[k] = results.Text(s)
	}
	return list
}

// moment reads a time that may be before the measured part.
func (p *parser) moment(i int) float64 {
	x, err := strconv.ParseFloat(p.row[i], 64)
	p.check(i, err == nil && x >= -maxFloat && x <= maxFloat)
	return x
}

func (p *parser) bool(i int) bool {
	v, err := strconv.ParseBool(p.row[i])
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%s: %.60q is neither true nor false", p.columns[i], p.row[i])
	}
	return v
}

// writeFailovers makes failovers.csv, whole or not at all, if there is anything to tell.
func writeFailovers(dir string, s results.Summary) error {
	list := s.Failovers()
	if len(list) == 0 {
		return nil
	}
	return atomicfile.Write(filepath.Join(dir, FailoversFile), func(w io.Writer) error {
		out := csv.NewWriter(w)
		lines := [][]string{failoverColumns}
		for _, f := range list {
			lines = append(lines, failoverRow(f))
		}
		return out.WriteAll(lines)
	})
}

// checkFailovers holds failovers.csv, where there is one, against the summary.
func checkFailovers(dir string, s results.Summary) error {
	err := readFile(dir, FailoversFile, func(r io.Reader) error {
		list, err := ReadFailovers(r)
		if err != nil {
			return err
		}
		want := s.Failovers()
		for i := range max(len(list), len(want)) {
			if i >= len(list) || i >= len(want) || !slices.Equal(failoverRow(list[i]), failoverRow(want[i])) {
				return fmt.Errorf("row %d is not what %s says", i+1, SummaryFile)
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
