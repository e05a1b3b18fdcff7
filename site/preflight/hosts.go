package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/results"
)

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
		if d := len(by[b]) - len(by[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
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
