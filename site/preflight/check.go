package preflight

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/fabric"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
	"evbench/topology"
)

// Options of Check.
type Options struct {
	Off        bool   // machines are compared; reach is not measured
	Unmeasured string // why a worker cannot measure its reach; "": it can
	// Switches maps an address to the switch that owns it: an address for each spine must lead
	// through its spine.
	Switches map[string]string
}

// Check implements fabric.Fabric.Check for plain hosts: it compares their machines and, unless that is
// switched off, how they reach each other. It returns an error if the results of a run on them would
// not be credible.
func Check(ctx context.Context, j fabric.Joined, o Options) (fabric.Checked, error) {
	c := fabric.Checked{Hosts: j.Hosts, Warnings: Compare(j.Hosts)}
	if err := unaddressed(j); err != nil {
		return c, err
	}
	log := cmp.Or(j.Log, slog.New(slog.DiscardHandler))
	for _, w := range c.Warnings {
		log.Warn(w)
	}
	if o.Off {
		c.Lines = []string{"off"}
		return c, nil
	}
	if o.Unmeasured != "" {
		c.Lines = []string{"reach was not measured: " + o.Unmeasured}
		return c, nil
	}
	limit := surveyTime(len(j.Hosts))
	log.Info("preflight: every pair of servers connects", "servers", len(j.Hosts), "within", limit)
	s, err := measured(ctx, j, o.Switches, limit)
	if err != nil {
		return c, fmt.Errorf("preflight: %w", err)
	}
	report := Judge(s)
	c.Lines = report.Lines()
	if err := report.Err(); err != nil {
		return c, err
	}
	for _, w := range report.Warnings {
		log.Warn("preflight: " + w)
	}
	c.Warnings = append(c.Warnings, report.Warnings...)
	return c, nil
}

// unaddressed refuses plans that send through a spine at which a server has no address: its worker would find out when
// the case begins. The first address of a server is no spine's.
func unaddressed(j fabric.Joined) error {
	for _, s := range j.Spines {
		if h := j.Hosts[s.To]; s.Path+1 >= len(h.Addresses) {
			return fmt.Errorf("case %q: its plan sends to server%d through spine%d, which has no address there: give each server one address and one more for each spine "+
				"(launch: {network: …}, worker --data), or take a routing whose tables choose", s.Case, h.Server, s.Path)
		}
	}
	return nil
}

// surveyTime bounds a survey of n servers: 42 s for 326. A successful round takes some
// milliseconds, a round with an unresponsive server some seconds.
func surveyTime(n int) time.Duration {
	return 10*time.Second + time.Duration(n)*100*time.Millisecond
}

// measured is the survey of workers, for the judge.
func measured(ctx context.Context, j fabric.Joined, switches map[string]string, limit time.Duration) (s Survey, err error) {
	s = Survey{Servers: intended(j.Tree.Shape, j.Hosts), Spines: j.Tree.Paths(), Switches: switches}
	if t := j.Tree; !t.Plain() {
		s.Half = halfWay(&t.Live)
	}
	place := map[int]int{} // position -> index
	for i, h := range j.Hosts {
		place[h.Server] = i
	}
	followed := Followed(s.Servers)
	s.Reached, err = j.Survey(ctx, limit, func(from, to int) bool { return followed[place[from]][place[to]] })
	return s, err
}

// halfWay names the switch half way on a path.
func halfWay(t *topology.Live) func(from, to, path int) string {
	return func(from, to, path int) string {
		links := t.PathLinks(from, to, path)
		_, high := t.Ends(links[len(links)/2])
		return t.SwitchName(high.Switch)
	}
}

// intended returns the server and leaf of each machine.
func intended(t *topology.Shape, hosts []results.Host) []Server {
	rank := map[int]int{}
	for r := range t.Servers() {
		rank[t.Position(r)] = r
	}
	return lists.Map(hosts, func(h results.Host) Server {
		return Server{Name: t.ServerName(rank[h.Server]), Host: h.Host, Leaf: t.Leaf(rank[h.Server])}
	})
}

// bestGovernor keeps processors at one frequency.
const bestGovernor = "performance"

// Compare returns undesired differences between the machines of a run, and the machines that save
// power.
func Compare(hosts []results.Host) []string {
	var out []string
	for _, c := range []struct {
		what string
		of   func(results.Host) string
	}{
		{"evbench version", func(h results.Host) string { return h.Version }},
		{"MTU", func(h results.Host) string { return number(h.MTU) }},
		{"speed of the network interface in Mbit/s", func(h results.Host) string { return number(h.SpeedMbit) }},
		{"cpu governor", func(h results.Host) string { return h.Governor }},
	} {
		by := split(hosts, c.of)
		if len(by) > 1 {
			out = append(out, fmt.Sprintf("%s differs between hosts: %s", c.what, describe(by)))
		} else if g := slices.Collect(maps.Keys(by)); c.what == "cpu governor" && len(g) == 1 && g[0] != bestGovernor {
			out = append(out, fmt.Sprintf("cpu governor is %s on all hosts, not %s: processors change their speed while they measure", g[0], bestGovernor))
		}
	}
	return out
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// split groups the names of the hosts by a value; hosts without it are left out.
func split(hosts []results.Host, of func(results.Host) string) map[string][]string {
	by := map[string][]string{}
	for _, h := range hosts {
		if v := of(h); v != "" && !slices.Contains(by[v], h.Host) {
			by[v] = append(by[v], h.Host)
		}
	}
	return by
}

func describe(by map[string][]string) string {
	values := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(len(by[b])-len(by[a]), strings.Compare(a, b))
	})
	parts := []string{values[0] + " on most"}
	if len(by[values[0]]) == len(by[values[1]]) {
		parts[0] = fmt.Sprintf("%s on %s", values[0], show.Few(by[values[0]]))
	}
	for _, v := range values[1:] {
		parts = append(parts, fmt.Sprintf("%s on %s", v, show.Few(by[v])))
	}
	return strings.Join(parts, ", ")
}
