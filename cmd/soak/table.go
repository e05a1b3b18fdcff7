package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
)

type document struct {
	Schema     string    `json:"schema"`
	Seed       uint64    `json:"seed"`
	Minutes    float64   `json:"minutes"`
	CPUs       int       `json:"cpus"`
	LinkEvents int       `json:"link_events"`
	Anomalies  int       `json:"anomalies"`
	Rounds     []outcome `json:"rounds"`
}

const schema = "evbench/soak/1"

func show(w io.Writer, o *options, done []outcome) error {
	d := document{Schema: schema, Seed: o.seed, Minutes: o.minutes, CPUs: runtime.NumCPU(), Rounds: []outcome{}}
	for _, x := range done {
		if x.Findings == nil {
			x.Findings = []Finding{}
		}
		d.Rounds = append(d.Rounds, x)
		d.LinkEvents += x.LinkEvents
		d.Anomalies += x.anomalies()
	}
	if o.json {
		return json.NewEncoder(w).Encode(d)
	}
	return d.print(w)
}

func (d document) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "round\tkind\tpolicy\tseed\ts\tlink events\tbuilt\tlost\tdoubled\tMiB\tfds\tthreads\tverdict\t")
	built, lost, doubled := uint64(0), uint64(0), uint64(0)
	for _, x := range d.Rounds {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%.0f\t%d\t%d\t%d\t%d\t%s\t%s\n", x.Round, x.Kind, or(x.Policy, "–"), x.Seed, x.Seconds,
			x.LinkEvents, x.Built, x.Lost, x.Duplicate, x.held(), x.verdict())
		built, lost, doubled = built+x.Built, lost+x.Lost, doubled+x.Duplicate
	}
	fmt.Fprintf(t, "all\t\t\t\t\t%d\t%d\t%d\t%d\t\t\t\t\t\n", d.LinkEvents, built, lost, doubled)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMiB, fds, threads: of the process, medians of the second and of the last quarter of the round.\n")
	for _, x := range d.Rounds {
		for _, f := range x.Findings {
			if f.Anomaly() {
				fmt.Fprintf(w, "round %d: %s\n", x.Round, f)
			}
		}
		if x.Repeat != "" {
			fmt.Fprintf(w, "  again: %s\n", x.Repeat)
		}
	}
	_, err := fmt.Fprintf(w, "seed %d: %d rounds, %d link events, %d anomalies\n", d.Seed, len(d.Rounds), d.LinkEvents, d.Anomalies)
	return err
}

func or(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

// held is what the process held in the second and in the last quarter.
func (o outcome) held() string {
	if o.Second == nil {
		return "–\t–\t–"
	}
	a, b := o.Second, o.Last
	return fmt.Sprintf("%.0f→%.0f\t%d→%d\t%d→%d", float64(a.ResidentBytes)/(1<<20), float64(b.ResidentBytes)/(1<<20),
		a.Descriptors, b.Descriptors, a.Threads, b.Threads)
}

func (o outcome) verdict() string {
	switch n := o.anomalies(); {
	case n > 0:
		return fmt.Sprintf("%d ANOMALIES\t", n)
	case len(o.Findings) > 0:
		return "explained\t"
	}
	return "clean\t"
}
