package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A Beside is what ours and a BookSim that was built here give for one case, with the same
// seeds, run in turn.
type Beside struct {
	Case         Case
	Ours, Theirs []Side // [seed]
}

// A Side is one run: flits that hosts accepted as a share of the link, and its processor time.
type Side struct {
	Accepted float64
	CPU      time.Duration
}

// samples is the sample period that BookSim is given, in cycles.
const samples = 2000

// BookSimConfig returns the configuration file with which BookSim, as published, runs a case.
// It is not ok for the cases that need something added to it: traffic and routing of
// their own, explicit networks, cut-through and whole exchanges.
func BookSimConfig(c Case) (text string, ok bool) {
	kary, size, err := parseCall(c["topology"])
	warm, window := c.int("warmup_cycles"), c.int("measured_cycles")
	switch {
	case c["sim"] != BookSim || err != nil || kary != "kary" || len(size) != 2,
		c["routing"] != "nca" && c["routing"] != "anca", c["traffic"] != "uniform",
		c["pipeline"] != "lean" && c["pipeline"] != "default",
		c["offered"] == "batch", warm%samples != 0, window%samples != 0:
		return "", false
	}
	ahead, speculative := 0, 1
	if c["pipeline"] == "default" {
		ahead, speculative = 1, 0
	}
	return strings.Join([]string{
		"topology=fattree", fmt.Sprintf("k=%d", size[0]), fmt.Sprintf("n=%d", size[1]),
		"routing_function=" + c["routing"], "traffic=uniform", "injection_process=bernoulli", "injection_rate_uses_flits=1",
		"injection_rate=" + c["offered"], "packet_size=" + c["packet_flits"],
		"num_vcs=" + c["vcs"], "vc_buf_size=" + c["buf_flits"], "router=iq", "buffer_policy=private",
		"vc_allocator=islip", "sw_allocator=islip", "arb_type=round_robin", "alloc_iters=1", "internal_speedup=1.0",
		fmt.Sprintf("routing_delay=%d", ahead), fmt.Sprintf("speculative=%d", speculative),
		"vc_alloc_delay=1", "sw_alloc_delay=1", "st_prepare_delay=0", "st_final_delay=1", "credit_delay=0", "output_delay=0",
		"sim_type=throughput", fmt.Sprintf("sample_period=%d", samples), fmt.Sprintf("warmup_periods=%d", warm/samples),
		fmt.Sprintf("max_samples=%d", (warm+window)/samples), "acc_stopping_thres=0.0", "stopping_thres=0.0",
		"seed=" + c["seed"] + ";",
	}, ";\n"), true
}

var accepted = regexp.MustCompile(`(?m)^Accepted flit rate average = ([0-9.e+-]+)`)

// BookSimAccepted reads the accepted flits of a host in a cycle from what BookSim prints.
func BookSimAccepted(printed string) (float64, error) {
	all := accepted.FindAllStringSubmatch(printed, -1)
	if len(all) == 0 {
		tail := strings.TrimSpace(printed)
		return 0, fmt.Errorf("no accepted flit rate in its output, which ends with %q", tail[max(0, len(tail)-200):])
	}
	return strconv.ParseFloat(all[len(all)-1][1], 64)
}

// PrintBeside prints the cases that both ran: means over seeds, their difference beside
// three standard errors of it, and theirs over our processor time.
func PrintBeside(w io.Writer, all []Beside) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ours\ttheirs\toff\t3 s.e.\tseeds\ttheir time/ours\tcase")
	var ratios, offs []float64
	for _, b := range all {
		ours, a, spent := mean(b.Ours)
		theirs, e, theirSpent := mean(b.Theirs)
		off, ratio := ours/theirs-1, theirSpent.Seconds()/spent.Seconds()
		ratios, offs = append(ratios, ratio), append(offs, off)
		noise := "–"
		if len(b.Ours) > 1 {
			noise = fmt.Sprintf("%.2f %%", 3*math.Hypot(a, e)/theirs*100)
		}
		fmt.Fprintf(t, "%.5f\t%.5f\t%+.2f %%\t%s\t%d\t%.3g\t%s\n", ours, theirs, off*100, noise, len(b.Ours), ratio, b.Case.name())
	}
	t.Flush()
	if len(all) > 0 {
		sum := 0.0
		for _, o := range offs {
			sum += o
		}
		fmt.Fprintf(w, "%d cases beside a BookSim built here: mean off %+.2f %%; median of their processor time over ours %.3g (%.3g to %.3g)\n",
			len(all), sum/float64(len(offs))*100, median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
}

// mean returns the mean of the accepted flits, its standard error and the processor time of all.
func mean(v []Side) (m, e float64, cpu time.Duration) {
	n := float64(len(v))
	for _, s := range v {
		m += s.Accepted / n
		cpu += s.CPU
	}
	for _, s := range v {
		e += (s.Accepted - m) * (s.Accepted - m)
	}
	return m, math.Sqrt(e / max(1, n-1) / n), cpu
}
