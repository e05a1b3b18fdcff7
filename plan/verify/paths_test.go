package verify_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/plan/verify"
)

// The addresses that the spines of a plan take are counted as a second, obvious
// count does, and a wrong statement is an offence.
func TestPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range 100 {
		plans := drafts(t, 1+rng.IntN(5), 1+rng.IntN(4)+1)
		d := plans[rng.IntN(len(plans))].clone()
		scramble(d, rng)
		used := map[string]map[int]bool{}
		most := 0
		for _, m := range d.messages {
			_, isSrc := d.tree.Rank(m[1])
			_, isDst := d.tree.Rank(m[2])
			if !isSrc || !isDst || d.inside(m) || m[3] < 0 || m[3] >= d.tree.Spines() {
				continue
			}
			key := fmt.Sprint(d.leaf(m[1]), " ", m[2])
			if used[key] == nil {
				used[key] = map[int]bool{}
			}
			used[key][m[3]] = true
			most = max(most, len(used[key]))
		}
		lmc := 0
		for 1<<lmc < most {
			lmc++
		}
		lids := d.tree.Servers()*(1<<lmc) + d.tree.Leaves() + d.tree.Spines()
		want := verify.Paths{Most: most, LMC: lmc, LIDs: lids, Entries: lids - 1}
		if r := judge(t, d.text(), verify.Options{}); r.Paths == nil || *r.Paths != want {
			t.Fatalf("%+v, want %+v\n%s", r.Paths, want, d.text())
		}
	}
}

func TestStatedPaths(t *testing.T) {
	doc := func(topology, routing, paths, messages string) string {
		return `{"schema":"evbench/plan/1","topology":"` + topology + `","routing":"` + routing + `","objective":"paths","moved":2,"paths":` + paths + `,"messages":` + messages + `}`
	}
	const two, three = `[[0,0,2,0],[1,1,2,1]]`, `[[0,0,4,0,0],[1,1,4,0,1]]`
	right := `{"most":2,"lmc":1,"lids":12,"lft_entries":11}`
	for _, tt := range []struct {
		name, text, offence, note string
	}{
		{"right", doc("FT(2;2,2)", "pinned", right, two), "", ""},
		{"most", doc("FT(2;2,2)", "pinned", strings.Replace(right, `"most":2`, `"most":1`, 1), two),
			"the file states paths most 1, lmc 1, lids 12, lft_entries 11; the spines give most 2, lmc 1, lids 12, lft_entries 11", ""},
		{"lmc", doc("FT(2;2,2)", "pinned", strings.Replace(right, `"lmc":1`, `"lmc":0`, 1), two),
			"the file states paths most 2, lmc 0, lids 12, lft_entries 11; the spines give most 2, lmc 1, lids 12, lft_entries 11", ""},
		{"lids", doc("FT(2;2,2)", "pinned", strings.Replace(right, `12`, `8`, 1), two),
			"the file states paths most 2, lmc 1, lids 8, lft_entries 11; the spines give most 2, lmc 1, lids 12, lft_entries 11", ""},
		{"entries", doc("FT(2;2,2)", "pinned", strings.Replace(right, `11`, `12`, 1), two),
			"the file states paths most 2, lmc 1, lids 12, lft_entries 12; the spines give most 2, lmc 1, lids 12, lft_entries 11", ""},
		{"moved", strings.Replace(doc("FT(2;2,2)", "pinned", right, two), `"moved":2`, `"moved":3`, 1), "the file states 3 messages moved; it has 2", ""},
		{"two top switches of a plane", doc("FT(3;2,2,2)", "pinned", `{"most":2,"lmc":1,"lids":28,"lft_entries":27}`, three), "", ""},
		{"three levels", doc("FT(3;2,2,2)", "pinned", right, three),
			"the file states paths most 2, lmc 1, lids 12, lft_entries 11; the spines give most 2, lmc 1, lids 28, lft_entries 27", ""},
		{"none", doc("FT(2;2,2)", "none", right, two), "", "paths not checked: with routing none the file does not say which spine a message takes"},
	} {
		r := judge(t, tt.text, verify.Options{First: 1000})
		var got []string
		for _, o := range r.Offences {
			if o.Kind == verify.WrongPrediction {
				got = append(got, o.Text)
			}
		}
		if strings.Join(got, "\n") != tt.offence || tt.note != "" && !slices.Contains(r.Notes, tt.note) {
			t.Errorf("%s: %q, notes %q", tt.name, got, r.Notes)
		}
	}
}

// Thesis 6.7.2: 326 servers that are reached by more than 16 spines have 32
// addresses each, 32·326 + 37 entries in the table of a switch.
func TestPathsOfTheThesis(t *testing.T) {
	text := "# evbench plan 1\n# topology FT(2;20,18)\n# fill 19,19,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18\n"
	for k := range 17 {
		text += fmt.Sprintf("%d %d 20 %d\n", k, k, k)
	}
	want := verify.Paths{Most: 17, LMC: 5, LIDs: 10470, Entries: 10469}
	if r := judge(t, text, verify.Options{}); *r.Paths != want {
		t.Errorf("%+v, want %+v", r.Paths, want)
	}
}
