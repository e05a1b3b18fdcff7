package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"evbench/routing/sssp"
	"evbench/study/jobs"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// A jobsDraws is what routing for jobs brings over random placements.
type jobsDraws struct {
	Schema   string             `json:"schema"`
	Source   string             `json:"source"`
	Sizes    []int              `json:"sizes"`
	Seed     uint64             `json:"seed"`
	Draws    int                `json:"draws"`
	Mean     float64            `json:"mean"` // routes on a cable: about what any routing can reach at best
	Routings []jobsDistribution `json:"routings"`
}

// A jobsDistribution is the greatest number of routes on a cable, sorted.
type jobsDistribution struct {
	Routing string  `json:"routing"`
	Max     []int64 `json:"max"`
}

func (d jobsDistribution) quantile(q float64) int64 { return d.Max[int(q*float64(len(d.Max)-1)+0.5)] }

// randomJobs scatters the jobs over the hosts, again and again.
func randomJobs(c *cli.Context, s *netfile.Source) error {
	sizes, err := jobSizes(c.Args().First())
	if err != nil {
		return err
	}
	d := &jobsDraws{Schema: "evbench/routes-jobs-random/1", Source: c.String("topology"), Sizes: sizes, Seed: c.Uint64("seed"), Draws: c.Int("draws")}
	for draw := range d.Draws {
		placed, err := jobs.Scatter(sizes, s.Net.Hosts(), d.Seed, uint64(draw))
		if err != nil {
			return usage(err)
		}
		if err := d.draw(s.Net, placed); err != nil {
			return err
		}
		if err := c.Context.Err(); err != nil {
			return err
		}
	}
	d.Mean /= float64(d.Draws)
	for _, r := range d.Routings {
		slices.Sort(r.Max)
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(d)
	}
	return d.print(c.App.Writer)
}

// jobSizes reads sizes, or takes those of a list of jobs.
func jobSizes(arg string) ([]int, error) {
	if sizes, err := jobs.ParseSizes(arg); err == nil {
		return sizes, nil
	}
	list, err := readJobs(arg)
	if err != nil {
		return nil, err
	}
	var sizes []int
	for _, j := range list {
		sizes = append(sizes, len(j.Nodes))
	}
	return sizes, nil
}

func (d *jobsDraws) draw(n *network.Network, placed [][]int) error {
	var p sssp.Placement
	for _, hosts := range placed {
		var job []network.Node
		for _, h := range hosts {
			job = append(job, network.Node(h))
		}
		p.Jobs = append(p.Jobs, job)
	}
	p.Jobs = sssp.MultiSwitch(n, p.Jobs)
	tables, err := jobsTables(n, p)
	if err != nil {
		return err
	}
	if d.Routings == nil {
		for _, t := range tables {
			d.Routings = append(d.Routings, jobsDistribution{Routing: t.Engine})
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

func (d *jobsDraws) print(w io.Writer) error {
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
