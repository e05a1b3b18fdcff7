package judge

import (
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/study/judge/foreign"
)

// The page has the answer first, and each link that is dead or decides.
func TestWritePage(t *testing.T) {
	for _, x := range []struct {
		notation string
		down     []string
		want     []string
	}{
		{"FT(2;4,4)", []string{"leaf0-spine0"}, []string{
			`<p class="answer">BAD: `, "Its tables allow 62.5%: the fullest link is spine1 to leaf0; a plan gives 93.8%. Repair leaf0-spine0 first: the network can do 100.0% then, 93.8% now.",
			"<td>h0</td><td class=\"n\">12</td><td>h[4-9],h[10-15]</td>",
			"<title>leaf0-spine0: dead</title>", "<title>leaf0-spine1: 16 routes up, 24 down; decides</title>", "dfsssp",
		}},
		{"FT(3;2,2,4)", []string{"s1_0-s2_0", "s2_2/3"}, []string{"leaf0-spine0: dead", "pod1-spine0-top0: dead"}},
		{"PGFT(2;4,4;1,2;1,2)", []string{"leaf0-spine0/0"}, []string{"<title>leaf0-spine0/0: dead</title>", "<title>leaf0-spine0/1: 1", "Repair leaf0-spine0/0 first"}},
		{"PGFT(2;4,4;1,2;1,16)", nil, []string{"no bound, repairs or plan", "routes up"}},
	} {
		in := input(t, x.notation, "opensm-minhop", x.down...)
		in.Result = &foreign.Result{What: "a run", Efficiency: 0.1}
		var b strings.Builder
		expect.Must(t, judged(t, in).WritePage(&b))
		for _, want := range x.want {
			expect.True(t, strings.Contains(b.String(), want), "%s: no %q", x.notation, want)
		}
	}
}
