package lft_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

func TestReadWeights(t *testing.T) {
	n := parseNetwork(t, "FT(2;1,2)", 0)
	for _, text := range []string{"host,weight\nh0,1\nh1,0.5\n", "# of a job\n h1 , 5e1 # io\r\n\n0x0002c90300000001,100", "h1,0.25\nh0,0.5"} {
		w, err := lft.ReadWeights(strings.NewReader(text), n)
		expect.False(t, err != nil || w.Of(0) != 2*w.Of(1) || w.Of(0) != 100 && w.Of(0) != 1<<24, "%q: %v, %v", text, w, err)
	}
	if w, err := lft.ReadWeights(strings.NewReader("h0,3"), parseNetwork(t, "FT(2;1,2)", 0, "h1")); err != nil || w.Of(1) != 0 {
		t.Errorf("a host without a cable needs no weight: %v", err)
	}
	for text, want := range map[string]string{
		"":                        "no weight for h0",
		"h0,1\n":                  "no weight for h1",
		"h0,1\nh1\n":              `line 2: "h1": a line is "host,weight"`,
		"h0,1\nh1,-1\n":           `line 2: weight "-1" of h1: must be a number of 0 or more`,
		"h0,1\nh1,NaN\n":          `line 2: weight "NaN" of h1: must be`,
		"h0,1\nh1,Inf\n":          `line 2: weight "Inf" of h1: must be`,
		"h0,1\nh1,\n":             `line 2: weight "" of h1: must be`,
		"h0,1\nh0,1\n":            "line 2: h0 has a weight on line 1",
		"h0,1\ns1_0,1\n":          "line 2: s1_0 is a switch, not a host",
		"h0,1\nh7,1\n":            "line 2: no node ",
		"h0,0\nh1,0\n":            "no host has a weight above 0",
		"h0,1\nhost,weight\nh1,1": "line 2: no node ",
	} {
		if _, err := lft.ReadWeights(strings.NewReader(text), n); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1)} {
		expect.True(t, expect.Err(lft.NewWeights([]float64{1, x})) != nil, "%g is taken", x)
	}
}

func FuzzReadWeights(f *testing.F) {
	n := parseNetwork(f, "FT(2;1,2)", 0)
	f.Add("host,weight\nh0,1\nh1,0.5\n")
	f.Add("h0,1e308\nh1,1e-308")
	f.Fuzz(func(t *testing.T, text string) {
		if w, err := lft.ReadWeights(strings.NewReader(text), n); err == nil && (max(w.Of(0), w.Of(1)) == 0 || max(w.Of(0), w.Of(1)) > 1<<24) {
			t.Errorf("%d and %d", w.Of(0), w.Of(1))
		}
	})
}

// TestLoadWeighted adds weights up along every route.
func TestLoadWeighted(t *testing.T) {
	n := parseNetwork(t, "FT(3;2,2,3)", 0, "s1_0/3")
	r := rand.New(rand.NewPCG(2, 2))
	of := make([]float64, n.Hosts())
	for h := range of {
		of[h] = float64(r.IntN(8) + 8*r.IntN(2))
	}
	w := expect.Value(lft.NewWeights(of))(t)
	tables := minHop(t, n)
	sum, total := map[string]float64{}, 0.0
	for src := range network.Node(n.Hosts()) {
		for dst := range network.Node(n.Hosts()) {
			at := n.Leaf(src).Node
			for src != dst && !n.IsHost(n.At(at, int(tables.Port(at, int(n.Info(dst).LID)))).Node) {
				end := network.End{Node: at, Port: tables.Port(at, int(n.Info(dst).LID))}
				sum[n.EndName(end)] += of[dst]
				total += of[dst]
				at = n.At(at, int(end.Port)).Node
			}
		}
	}
	got, most := lft.LoadWeighted(tables, w), 0.0
	for _, x := range sum {
		most = max(most, x)
	}
	mean := total / float64(2*len(n.SwitchCables()))
	expect.True(t, got.Max == most && sum[got.Port] == most && math.Abs(got.Mean-mean) <= 1e-9, "%+v, want %g, mean %g", got, most, mean)
	expect.True(t, fmt.Sprint(lft.Load(tables).Max) != fmt.Sprint(got.Max), "weights do not count")
}

func minHop(t testing.TB, n *network.Network) *lft.Tables {
	t.Helper()
	tables := expect.Value(opensm.MinHop.Route(n, nil))(t)
	return tables
}
