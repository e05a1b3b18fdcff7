package netfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/site/netfile"
	"evbench/testing/expect"
)

func TestReadEdges(t *testing.T) {
	for text, want := range map[string]string{
		"leaf0 n0\nleaf0 n1\n":                                "n0/1-leaf0/1 0, n1/1-leaf0/2 0",
		"# two\nleaf0/9 n0 100G # here\nn1, leaf0/2, 4xHDR\n": "n0/1-leaf0/9 100, n1/1-leaf0/2 200",
		"leaf0/9 n0\nleaf0 n1\nleaf0/1 n2\n":                  "n0/1-leaf0/9 0, n1/1-leaf0/2 0, n2/1-leaf0/1 0",
		"a/3 b/4 10Gbit/s\nb/4 a/3 10Gbit/s\na x\nb y\n":      "x/1-a/1 0, y/1-b/1 0, a/3-b/4 10",
		"a b\nb a\na x\nb y\n":                                "x/1-a/3 0, y/1-b/3 0, a/1-b/1 0, a/2-b/2 0", // two cables
		"n1 mlx5_0; leaf0\nn1 mlx5_1; leaf0; 400 Gbit/s\n":    "n1 mlx5_0/1-leaf0/1 0, n1 mlx5_1/1-leaf0/2 400",
		"s/U1 n0\ns/U1 n1\n":                                  "n0/1-s/U1/1 0, n1/1-s/U1/2 0",
	} {
		n, err := netfile.ReadEdges(strings.NewReader(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		for _, c := range n.Cables() {
			got = append(got, fmt.Sprintf("%s-%s %g", n.EndName(c.A), n.EndName(c.B), n.Rate(c.A)/1e9))
		}
		expect.Equal(t, strings.Join(got, ", "), want, "%q", text)
	}
	for text, want := range map[string]string{
		"a b\n":                      `line 1: there is no switch between "a" and "b": a node with one cable is a host`,
		"a b\na a\n":                 `line 2: "a": a cable joins two nodes`,
		"a b\na c 7\n":               `line 2: "7": write the rate of a cable with its unit, such as 400Gbit/s or 4xHDR`,
		"a b\na/0 c\n":               `line 2: "a/0": port 0: must be 1..254`,
		"a b\na/1 c d e\n":           `line 2: "a/1 c d e": not two names and a rate`,
		"a/1 b\na/1 c\n":             "line 2: port 1 of a has a cable already",
		"n1 mlx5_0\nn2 mlx5_0\n":     `"mlx5_0" is the name of an adapter: this is a list of hosts, not of cables`,
		strings.Repeat("a b\n", 255): `"a" has 255 cables: must be 1..254`,
	} {
		expect.Error(t, expect.Err(netfile.ReadEdges(strings.NewReader(text))), want)
	}
}

// What is no network that is read says its kind, or that it is none, and never that it is a wrong one of ibnetdiscover.
func TestOtherKinds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "net")
	for text, want := range map[string]string{
		"graph { a -- b }\n":                                  "a graph of Graphviz",
		"strict digraph x{\n a -> b\n}\n":                     "a graph of Graphviz",
		"graph [\n node [ id 0 ]\n]\n":                        "GML",
		`{"directed":false,"nodes":[{"id":1}],"links":[]}`:    "a graph as JSON",
		"<?xml version=\"1.0\"?>\n<Report></Report>\n":        "XML",
		"<!DOCTYPE html><html>":                               "a page of HTML",
		"lldp.eth0.via=LLDP\n":                                "the output of LLDP",
		"side_a_device,side_a_name\nleaf1,e1\n":               "a table of cables",
		"network Foo\n{\n submodules:\n":                      "a network of OMNeT++",
		"SW24 SW-1\n   P1 -4x-2.5G-> HCA H-1 P1\n":            "a topology of ibdm (.topo)",
		"PK\x03\x04aaaa":                                      "a spreadsheet or an archive",
		"%PDF-1.4\n":                                          "a PDF",
		"SwitchName=a Nodes=b\nInclude more.conf\n":           "a file with an Include of Slurm",
		"6 2 5\n4 5\n0 4 200Gbps 0.0005ms 0\n":                "a topology of ns-3",
		"interfaces are up and running\n":                     "\"interfaces are up and running\": no form of a network that is read",
		"[defaults]\nx=1\n":                                   "no form of a network that is read",
		"FOO=1\nBAR baz qux\n":                                "no form of a network that is read",
		"version: 3\nservices: {}\n":                          "no form of a network that is read",
		"Chassis 0\nvendid=0x2c9\nswitchguid=0x1\nSwitch 3\n": "line 4: cannot read \"Switch 3\": not a node, a port or a GUID of ibnetdiscover",
		"vendid=0x2c9\nswitchguid=0x1\nSwitch 3\n":            "line 3: cannot read \"Switch 3\": not a node, a port or a GUID of ibnetdiscover",
	} {
		expect.Must(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := netfile.Read(name, 0)
		expect.Error(t, err, want)
		if !strings.Contains(want, "ibnetdiscover") && err != nil {
			expect.False(t, strings.Contains(err.Error(), "not a node"), "%q: %v", text, err)
		}
	}
}

func FuzzReadEdges(f *testing.F) {
	f.Add("leaf0/49 spine0/1 400Gbit/s\nleaf0 n0\n\"a\", b")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := netfile.ReadEdges(strings.NewReader(s)); err == nil {
			expect.True(t, n.Hosts()+n.Switches() > 1 && len(n.Cables()) > 0, "%q: %d hosts, %d switches", s, n.Hosts(), n.Switches())
		}
	})
}
