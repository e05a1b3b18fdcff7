// Package preflight checks that every server of plain hosts reaches every other one, that each is
// on its leaf of the topology file, that the address for a spine leads through that spine, and that
// the machines are alike. A Prober measures from a worker; Judge and Compare evaluate all
// measurements.
package preflight

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/controller/wire"
	"evbench/internal/show"
)

// A Server is one server as intended.
type Server struct {
	Name string // "server5"
	Host string // its machine; "": not known
	Leaf int    // by the file
}

// A Survey is the measurements.
type Survey struct {
	Servers []Server
	Reached [][][]wire.Reach // [from][to], by address; nil if not measured
	Spines  int              // paths between leaves: of two levels, the spines
	// Half names the switch half way from one leaf to another by a path; nil: that of two levels,
	// "spine3".
	Half func(from, to, path int) string
	// Switches maps an address that a router uses for itself to its switch: "spine3".
	Switches map[string]string
}

// A Report is the findings of a Survey.
type Report struct {
	unreached []string // servers not reached, with addresses and reasons
	misplaced []string // servers that seem to be on another leaf
	diverted  []string // addresses for a spine that lead through another switch
	Warnings  []string // checks that were impossible, and should be possible
	Notes     []string // extent of the checks, and harmless irregularities
}

func Judge(s Survey) Report {
	var r Report
	r.unreached = s.unreached()
	r.Notes = append(s.coverage(), s.counts()...)
	if len(r.unreached) > 0 {
		return r // leaves are compared once all is connected
	}
	var note string
	r.misplaced, note = s.leaves()
	r.Notes = append(r.Notes, note)
	if len(r.misplaced) == 0 {
		s.paths(&r)
	}
	return r
}

const maxLines = 20

// Err returns all findings that prevent a run, or nil.
func (r Report) Err() error {
	if len(r.unreached)+len(r.misplaced)+len(r.diverted) == 0 {
		return nil
	}
	lines := []string{"preflight: nothing has been measured, because"}
	for _, found := range [][]string{r.unreached, r.misplaced, r.diverted} {
		for _, f := range found[:min(len(found), maxLines)] {
			lines = append(lines, "  "+f)
		}
		if more := len(found) - maxLines; more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more such", more))
		}
	}
	for _, n := range slices.Concat(r.Notes, r.Warnings) {
		lines = append(lines, "  ("+n+")")
	}
	switch {
	case len(r.misplaced) > 0:
		lines = append(lines, "correct which host has which position, or switch the check off with preflight: off in launch")
	case len(r.diverted) > 0:
		lines = append(lines, "correct the routes of the switches, or switch the check off with preflight: off in launch")
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Lines returns all findings, for the manifest.
func (r Report) Lines() []string {
	return slices.Concat(r.unreached, r.misplaced, r.diverted, r.Notes, r.Warnings)
}

func (s Survey) coverage() []string {
	n, measured, addresses := len(s.Servers), 0, 0
	for _, row := range s.Reached {
		for _, r := range row {
			if len(r) > 0 {
				measured++
				addresses += len(r)
			}
		}
	}
	switch all := n * (n - 1); {
	case measured == 0:
		return []string{"reach was not measured: the servers have no addresses to connect to"}
	case measured < all:
		return []string{fmt.Sprintf("only %d of %d ordered pairs were measured in the time for it", measured, all)}
	}
	return []string{fmt.Sprintf("every pair of %d servers was tried, in both directions, %d connections", n, addresses)}
}

func (s Survey) counts() []string {
	counts := map[int][]string{}
	for to := range s.Servers {
		if n := s.addresses(to); n > 1 && n != 1+s.Spines {
			counts[n] = append(counts[n], s.name(to))
		}
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d addresses of %s: a pinned plan needs %d, the first for routing tables and one for each of %d %s",
			n, show.Few(counts[n]), 1+s.Spines, s.Spines, s.kind()+"s"))
	}
	return out
}

func (s Survey) addresses(to int) int {
	for from := range s.Servers {
		if n := len(s.Reached[from][to]); n > 0 {
			return n
		}
	}
	return 0
}

// name is a server, with its machine if there are several.
func (s Survey) name(i int) string {
	v := s.Servers[i]
	if v.Host == "" || !slices.ContainsFunc(s.Servers, func(w Server) bool { return w.Host != v.Host }) {
		return v.Name
	}
	return v.Name + " (" + v.Host + ")"
}
