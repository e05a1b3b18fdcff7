package netfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

const slurm = `# a tree with two spines
SwitchName=leaf0 Nodes=node[01-02],gw LinkSpeed=1
switchname=leaf1 \
   nodes=node[03-04] # half of it
SwitchName=spine0 Switches=leaf[0-1]
SwitchName=spine1 Switches=leaf0,leaf1
`

func TestReadSlurm(t *testing.T) {
	n := expect.Value(netfile.ReadSlurm(strings.NewReader(slurm)))(t)
	var got []string
	for _, c := range n.Cables() {
		got = append(got, n.EndName(c.A)+" "+n.EndName(c.B))
	}
	expect.Equal(t, strings.Join(got, ", "), "node01/1 leaf0/1, node02/1 leaf0/2, gw/1 leaf0/3, node03/1 leaf1/1, node04/1 leaf1/2, "+
		"leaf0/4 spine0/1, leaf0/5 spine1/1, leaf1/3 spine0/2, leaf1/4 spine1/2", "cables")
	p := expect.Value(network.TreeOf(n))(t)
	expect.Equal(t, p.Tree.Notation(), "FT(2;3,2)", "tree")
	expect.Equal(t, p.Tree.Servers(), 5, "servers")
}

// TestReadForms: a file is read as what it is.
func TestReadForms(t *testing.T) {
	for text, want := range map[string]string{slurm: netfile.Slurm, golden: netfile.YAML, tiny: netfile.IB, ibdiagnet: netfile.Ibdiagnet, linkInfo: netfile.LinkInfo} {
		name := filepath.Join(t.TempDir(), "network")
		expect.Must(t, os.WriteFile(name, []byte(text), 0o600))
		s, err := netfile.Read(name, 1)
		expect.MustTrue(t, err == nil && s.Form == want, "%v, want %s", err, want)
		expect.True(t, s.Net.MaxLID() > 0, "%s has no LIDs", want)
	}
}

func TestReadSlurmRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{slurm, "", "0 nodes and 0 switches: there must be nodes"},
		{slurm, "SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "0 nodes and 2 switches"},
		{slurm, "BlockName=b1 Nodes=a[1-2]\n", "line 1: blocks (topology/block) say no switches: a tree (topology/tree) is read"},
		{"LinkSpeed=1", "Speed=1", `line 2: "Speed=1": there are SwitchName=…, Nodes=…, Switches=… and LinkSpeed=…`},
		{"LinkSpeed=1", "LinkSpeed", `line 2: "LinkSpeed": there are`},
		{"LinkSpeed=1", "NODES=x", `line 2: "NODES=x": given twice`},
		{"SwitchName=spine1 ", "", "line 6: no SwitchName=…"},
		{"Nodes=node[01-02],gw", "", `line 2: switch "leaf0": write either Nodes=… or Switches=…`},
		{"LinkSpeed=1", "Switches=leaf1", `line 2: switch "leaf0": write either`},
		{"node[01-02]", "node[02-01]", "line 2: host list"},
		{"node[01-02]", "node[001-300]", `line 2: switch "leaf0": 301 names below: must be 1..254`},
		{"node[03-04]", "node[02-04]", `line 3: node "node02" is given twice; first on line 2`},
		{"node[03-04]", "leaf0", `line 3: node "leaf0" is given twice; first on line 2`},
		{"spine1", "spine0", `line 6: "spine0" is given twice; first on line 5`},
		{"leaf0,leaf1", "leaf0,leaf2", `line 6: switch "leaf2" has no line of its own`},
		{"leaf0,leaf1", "leaf0,leaf0", `line 6: switch "leaf0" is given twice`},
		{"leaf0,leaf1", "leaf0,spine1", `line 6: switch "spine1" is given twice`},
	} {
		_, err := netfile.ReadSlurm(strings.NewReader(strings.Replace(slurm, c.old, c.new, 1)))
		expect.True(t, err != nil && strings.Contains(err.Error(), c.want), "%v, want %q", err, c.want)
	}
}

func FuzzReadSlurmYAML(f *testing.F) {
	f.Add("- topology: a\n  tree:\n    switches:\n      - {switch: s, children: 'l[1-2]'}\n      - {switch: l1, nodes: a}\n      - {switch: l2, nodes: b}\n")
	f.Fuzz(func(t *testing.T, s string) { roundTrip(t, netfile.ReadSlurmYAML, s) })
}

func FuzzReadSlurm(f *testing.F) {
	f.Add(slurm)
	f.Add("SwitchName=s Nodes=a[1-9]\n")
	f.Fuzz(func(t *testing.T, s string) { roundTrip(t, netfile.ReadSlurm, s) })
}
