package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"evbench/routing/lft"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

func routesCheckCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "check",
		Usage:     "what forwarding tables do: reach, loops, deadlocks, loads, congestion",
		ArgsUsage: "FILE|-",
		Flags: slices.Concat(routesFlags(), []cli.Flag{
			&cli.IntFlag{Name: "first", Value: 10, Usage: "print the first `N` offences"},
			&cli.IntFlag{Name: "shifts", Value: 0, Usage: "phases of the linear shift, `N` drawn by the seed (default: all up to 4096 hosts, else 512)"},
			&cli.IntFlag{Name: "permutations", Value: 64, Usage: "random permutations, `N`"},
			&cli.IntFlag{Name: "bisections", Value: 64, Usage: "random bisections, `N`"},
			&cli.BoolFlag{Name: "reach", Usage: "only look whether routes arrive, and for deadlocks"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing; the exit code says it"},
		}),
		Action: routesCheckAction,
	}, "  evbench routes check -t 'FT(2;4,8)' --down leaf0-spine0 -e opensm-minhop\n"+
		"\nThe exit code is 1 if some host does not reach another, for want of an entry, by a dead port or a loop.")
}

// A routesReport is all that is said about tables.
type routesReport struct {
	Schema string `json:"schema"`
	Valid  bool   `json:"valid"`
	*lft.Report
	Deadlocks    *lft.Deadlocks    `json:"deadlocks"`
	Loads        *lft.Loads        `json:"loads,omitempty"`
	Alternatives *lft.Alternatives `json:"alternatives,omitempty"`
	Shift        *lft.Congestion   `json:"shift,omitempty"`
	Permutations *lft.Congestion   `json:"permutations,omitempty"`
	Bisections   *lft.Congestion   `json:"bisections,omitempty"`
	Notes        []string          `json:"notes,omitempty"`
}

// allShifts is the number of hosts up to which all phases of the shift are
// followed: some seconds.
const (
	allShifts  = 4096
	someShifts = 512
)

// mostPhases is how many phases of a pattern are followed at most, and offences
// printed: what comes of each is kept.
const mostPhases = 1_000_000

func routesCheckAction(c *cli.Context) error {
	for _, f := range []string{"first", "shifts", "permutations", "bisections"} {
		if c.Int(f) < 0 || f == "first" && c.Int(f) < 1 {
			return usagef("--%s %d: too small", f, c.Int(f))
		}
		if c.Int(f) > mostPhases {
			return usagef("--%s %d: at most %d", f, c.Int(f), mostPhases)
		}
	}
	t, s, err := routesOf(c)
	if err != nil {
		return err
	}
	r := checkRoutes(c, t, s)
	switch {
	case c.Bool("quiet"):
	case c.Bool("json"):
		err = json.NewEncoder(c.App.Writer).Encode(r)
	default:
		err = r.print(c.App.Writer)
	}
	if err == nil && !r.Valid {
		err = &exitError{code: exitFailed}
	}
	return err
}

func checkRoutes(c *cli.Context, t *lft.Tables, s *netfile.Source) *routesReport {
	r := &routesReport{Schema: "evbench/routes-check/1"}
	ranks, err := network.Ranks(t.Net, s.Roots)
	if err != nil {
		ranks = nil
		r.Notes = append(r.Notes, "up and down are not known: "+err.Error())
	}
	r.Report = lft.Check(t, lft.Options{Ranks: ranks, First: c.Int("first")})
	r.Network = c.String("topology")
	r.Valid = r.OK()
	r.Deadlocks = lft.Deadlock(t, 0)
	if c.Bool("reach") {
		return r
	}
	hosts, seed := t.Net.Hosts(), c.Uint64("seed")
	r.Loads = lft.Load(t, 0)
	r.Alternatives = lft.Minimal(t.Net, 0)
	shifts := c.Int("shifts")
	if shifts == 0 {
		if shifts = hosts; hosts > allShifts {
			shifts = someShifts
		}
	}
	r.Shift = lft.Congest(t, lft.SomeShifts(hosts, shifts, seed), 0)
	if n := c.Int("permutations"); n > 0 {
		r.Permutations = lft.Congest(t, lft.Permutations(n, seed), 0)
	}
	if n := c.Int("bisections"); n > 0 {
		r.Bisections = lft.Congest(t, lft.Bisections(n, seed), 0)
	}
	return r
}

func (r *routesReport) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %d hosts, %d switches, engine %s\n", r.Network, r.Hosts, r.Switches, r.Engine)
	r.printReach(w)
	r.printDeadlocks(w)
	if l := r.Loads; l != nil {
		fmt.Fprintf(w, "all-to-all: %d routes on %s, mean %.4g on each of %d cables and directions, %d unused\n", l.Max, l.Port, l.Mean, l.Cables, l.Unused)
	}
	if a := r.Alternatives; a != nil && a.Pairs > 0 {
		fmt.Fprintf(w, "shortest ways between leaves begin at %.4g ports, at least %d\n", a.Mean, a.Least)
	}
	if s := r.Shift; s != nil {
		fmt.Fprintf(w, "%s: slowdown %.3f, up to %d routes on a cable, %d of %d phases share one\n", s.Pattern, s.Slowdown, s.Worst, s.Conflicts, s.Phases)
	}
	if p := r.Permutations; p != nil {
		fmt.Fprintf(w, "%d %s: slowdown %.3f, up to %d routes on a cable, mean %.3f\n", p.Phases, p.Pattern, p.Slowdown, p.Worst, p.Mean)
	}
	if b := r.Bisections; b != nil {
		fmt.Fprintf(w, "%d %s: effective bandwidth %.3f, least share of a message %.3f\n", b.Phases, b.Pattern, b.Throughput, b.Least)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, o := range r.Offences {
		fmt.Fprintln(w, "route", o.Text)
	}
	if more := r.Unreachable + r.UpAfterDown - int64(len(r.Offences)); more > 0 && len(r.Offences) > 0 {
		fmt.Fprintf(w, "… %d pairs in all\n", r.Unreachable+r.UpAfterDown)
	}
	return err
}

func (r *routesReport) printReach(w io.Writer) {
	if r.OK() {
		fmt.Fprintf(w, "reach: all %d pairs\n", r.Pairs)
	} else {
		fmt.Fprintf(w, "reach: %d of %d pairs NOT: no entry %d, dead port %d, loop %d, wrong host %d, no cable %d\n",
			r.Unreachable, r.Pairs, r.NoEntry, r.DeadPorts, r.Loops, r.WrongHost, r.NoCable)
	}
	fmt.Fprint(w, "switches on a route:")
	for hops, pairs := range r.Hops {
		if pairs > 0 {
			fmt.Fprintf(w, " %d×%d", hops, pairs)
		}
	}
	fmt.Fprintln(w)
	if r.DeadEntries > 0 {
		fmt.Fprintf(w, "entries to dead ports: %d, used or not\n", r.DeadEntries)
	}
	if r.Ranked {
		fmt.Fprintf(w, "up after down: %d pairs\n", r.UpAfterDown)
	}
}

func (r *routesReport) printDeadlocks(w io.Writer) {
	d := r.Deadlocks
	if d.Free() {
		fmt.Fprintf(w, "deadlock: none, %d dependencies, lanes %d\n", d.Dependencies, d.Lanes)
		return
	}
	fmt.Fprintf(w, "deadlock: possible on lanes %v of %d:", d.Cyclic, d.Lanes)
	for _, n := range d.Names {
		fmt.Fprintf(w, " %s", n)
	}
	fmt.Fprintln(w)
}
