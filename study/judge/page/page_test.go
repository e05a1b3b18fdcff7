package page_test

import (
	"bytes"
	"strings"
	"testing"

	"evbench/routing"
	"evbench/study/judge"
	"evbench/study/judge/foreign"
	"evbench/study/judge/page"
	"evbench/topology/network"
)

func verdict(t *testing.T, notation string, down ...string) *judge.Verdict {
	t.Helper()
	whole, err := network.Parse(notation, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := whole.Degrade(down)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := routing.Compute("opensm-minhop", n, routing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := judge.Judge(judge.Input{
		Name: notation, Whole: whole, Net: n, Hosts: network.AllHosts(n), Tables: tables,
		Result: &foreign.Result{What: "a run", Efficiency: 0.1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The page has the answer first, and each link that is dead or decides.
func TestWrite(t *testing.T) {
	for _, x := range []struct {
		notation string
		down     []string
		want     []string
	}{
		{"FT(2;4,4)", []string{"leaf0-spine0"}, []string{
			`<p class="answer">10.7% of what the network can do at most was measured`, "Its tables allow 62.5%: the fullest link is spine1 to leaf0; a plan gives 93.8%. Repair leaf0-spine0 first: the network can do 100.0% then, 93.8% now.",
			"<td>h0</td><td class=\"n\">12</td><td>h[4-9],h[10-15]</td>",
			"<title>leaf0-spine0: dead</title>", "<title>leaf0-spine1: 16 routes up, 24 down; decides</title>", "dfsssp",
		}},
		{"FT(3;2,2,4)", []string{"s1_0-s2_0", "s2_2/3"}, []string{"s1_0-s2_0: dead", "s2_2-s3_0: dead"}},
		{"PGFT(2;4,4;1,2;1,2)", nil, []string{"no bound, repairs or plan", "routes up"}},
	} {
		var b bytes.Buffer
		if err := page.Write(&b, verdict(t, x.notation, x.down...)); err != nil {
			t.Fatal(err)
		}
		for _, want := range x.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q", x.notation, want)
			}
		}
	}
}
