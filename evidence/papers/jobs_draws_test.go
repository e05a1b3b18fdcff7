package papers

import (
	"fmt"
	"slices"
	"testing"

	"evbench/site/network"
	"evbench/study/jobs"
	"evbench/testing/expect"
)

func TestScatter(t *testing.T) {
	sizes := []int{60, 60, 60, 20}
	a := expect.Value(scatter(sizes, 200, 1, 0))(t)
	all := slices.Sorted(slices.Values(slices.Concat(a...)))
	for i, n := range all {
		expect.MustTrue(t, n == i, "node %d is missing or twice", i)
	}
	b, _ := scatter(sizes, 200, 1, 0)
	c, _ := scatter(sizes, 200, 1, 1)
	expect.True(t, slices.Equal(a[0], b[0]) && !slices.Equal(a[0], c[0]), "the same draw differs, or another does not")
	expect.True(t, expect.Err(scatter(sizes, 199, 1, 0)) != nil, "200 nodes fit on 199")
}

// TestEdges: each cable is there once, and has the routes that the index counts.
func TestEdges(t *testing.T) {
	for _, notation := range []string{"FT(2;4,8)", "PGFT(3;2,2,4;1,2,2;1,1,1)"} {
		n := expect.Value(network.Parse(notation, 0))(t)
		r := jobs.NewRouted(notation)
		var list []jobs.Job
		for j := range 3 {
			job := jobs.Job{ID: fmt.Sprint(j)}
			for h := j; h < n.Hosts(); h += 3 {
				job.Nodes = append(job.Nodes, n.Info(network.Node(h)).Name)
			}
			list = append(list, job)
		}
		expect.Must(t, expect.Err(r.Route(n, r.Place(n, list, new(jobs.Classes)), 0)))
		edges := edgesOf(r, n)
		expect.Equal(t, len(edges), len(n.SwitchCables()), "%s: cables", notation)
		for i, l := range r.Routings {
			var all []int64
			for _, e := range edges {
				if e.low >= e.high { // names begin with the level
					t.Errorf("%s: %s is below %s", notation, e.low, e.high)
				}
				all = append(all, e.up[i], e.down[i])
			}
			want := slices.Sorted(slices.Values(l.EFI.Routes))
			expect.Equal(t, slices.Sorted(slices.Values(all)), want, "%s, %s", notation, l.Routing)
		}
	}
}
