package papers

import (
	"evbench/routing/lft"
	"evbench/routing/opensm"
	"evbench/topology/network"
)

const restartTree = "PGFT(2;6,4;1,3;1,3)"

// A restartCase is a row of Table 1 of the memo of 2005: what was dead when tables were saved, and
// what is when a subnet manager finds them. lid is the new LID of the first host.
type restartCase struct {
	row          string
	before, then []string
	lid          uint16
}

var restartCases = []restartCase{
	{"new switch", []string{"s2_0"}, nil, 0},
	{"missing switch", nil, []string{"s2_0"}, 0},
	{"new cable", []string{"s1_0/7"}, nil, 0},
	{"missing cable, others join", nil, []string{"s1_0/7"}, 0},
	{"missing cable, the last", nil, []string{"s1_0-s2_0"}, 0},
	{"missing cable to a host", nil, []string{"h0"}, 0},
	{"new host", []string{"h0"}, nil, 0},
	{"LID changed", nil, nil, 4000},
}

// restarts is Table 1 of the memo of 2005: of each change, whether saved min-hop tables are kept,
// and which share of the saved entries, to nodes that are there before and after, is.
func restarts(w *work) {
	w.Setup = []string{
		restartTree + ", three cables from a leaf to a spine, minhop; tables are saved, something changes, a subnet manager starts with them",
		"kept: of saved entries to nodes that are there before and after; 100 and 0 of the memo: \"does not invalidate\", \"invalidates\"",
	}
	whole := must(network.Parse(restartTree, 0))
	for i, c := range restartCases {
		then := must(whole.Degrade(c.then))
		if c.lid > 0 {
			then = renumbered(then, c.lid)
		}
		saved := must(opensm.MinHop.Route(must(whole.Degrade(c.before)), nil))
		tables, is, err := opensm.MinHop.Restart(then, nil, saved)
		check(err)
		hops := 100.0
		if is.MinHops {
			hops = 0
		}
		w.add("min-hop tables", float64(i), c.row, "% kept", hops)
		w.add("entries", float64(i), c.row, "% kept", keptEntries(saved, tables, is))
	}
}

func renumbered(n *network.Network, lid uint16) *network.Network {
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
	}
	info[0].LID = lid
	return n.WithInfo(info)
}

// keptEntries is the share in percent of saved entries, to LIDs that both tables lead to,
// that were kept.
func keptEntries(saved, now *lft.Tables, is *opensm.Validity) float64 {
	both := 0
	for s := range now.Net.Switches() {
		row := now.Row(s)
		for lid, port := range saved.Row(s) {
			if port != lft.NoPort && lid < len(row) && row[lid] != lft.NoPort {
				both++
			}
		}
	}
	return 100 * float64(is.Kept) / float64(both)
}
