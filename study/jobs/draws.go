package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"evbench/routing/sssp"
	"evbench/topology/network"
)

// Draws are what routing for jobs brings over random placements.
type Draws struct {
	Schema   string         `json:"schema"`
	Source   string         `json:"source"`
	Sizes    []int          `json:"sizes"`
	Seed     uint64         `json:"seed"`
	Draws    int            `json:"draws"`
	Mean     float64        `json:"mean"` // routes on a cable: about what any routing can reach at best
	Routings []Distribution `json:"routings"`
}

// A Distribution is the greatest number of routes on a cable, sorted.
type Distribution struct {
	Routing string  `json:"routing"`
	Max     []int64 `json:"max"`
}

func (d Distribution) quantile(q float64) int64 { return d.Max[int(q*float64(len(d.Max)-1)+0.5)] }

// DrawPlacements scatters jobs of some sizes over the hosts, again and again, and routes
// for them each time.
func DrawPlacements(ctx context.Context, n *network.Network, sizes []int, seed uint64, draws int) (*Draws, error) {
	d := &Draws{Schema: "evbench/routes-jobs-random/1", Sizes: sizes, Seed: seed, Draws: draws}
	for draw := range draws {
		placed, err := Scatter(sizes, n.Hosts(), seed, uint64(draw))
		if err != nil {
			return nil, err
		}
		if err := d.draw(n, placed); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	d.Mean /= float64(draws)
	for _, r := range d.Routings {
		slices.Sort(r.Max)
	}
	return d, nil
}

// draw adds what comes of one placement.
func (d *Draws) draw(n *network.Network, placed [][]int) error {
	var p sssp.Placement
	for _, hosts := range placed {
		var job []network.Node
		for _, h := range hosts {
			job = append(job, network.Node(h))
		}
		p.Jobs = append(p.Jobs, job)
	}
	p.Jobs = sssp.MultiSwitch(n, p.Jobs)
	tables, err := tablesFor(n, p)
	if err != nil {
		return err
	}
	if d.Routings == nil {
		for _, t := range tables {
			d.Routings = append(d.Routings, Distribution{Routing: t.Engine})
		}
	}
	for i, t := range tables {
		efi := sssp.Index(t, p.Jobs)
		d.Routings[i].Max = append(d.Routings[i].Max, efi.Max)
		if i == 0 {
			d.Mean += efi.Mean
		}
	}
	return nil
}

// WriteJSON writes one document, schema evbench/routes-jobs-random/1.
func (d *Draws) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(d) }

// WriteText writes it for people.
func (d *Draws) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d jobs, %d random placements, seed %d: greatest number of routes of jobs on a cable; the mean cable has %.1f\n",
		d.Source, len(d.Sizes), d.Draws, d.Seed, d.Mean)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tab, "routing\tbest\t10 %%\tmedian\t90 %%\tworst\t\n")
	for _, r := range d.Routings {
		fmt.Fprintf(tab, "%s\t", r.Routing)
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 1} {
			fmt.Fprintf(tab, "%d\t", r.quantile(q))
		}
		fmt.Fprintln(tab)
	}
	return tab.Flush()
}
