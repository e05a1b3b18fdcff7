package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"evbench/internal/proc"
	"evbench/results"
)

// A Beside is what ours and a BookSim that was built here give for one case, with the same
// seeds, run in turn. Of theirs only what hosts accept is read.
type Beside struct{ Ours, Theirs Runs }

// beside runs the cases that BookSim can run with both, seed by seed in turn, and prints
// how far and how fast they are.
func (o *options) beside(ctx context.Context, cases []Case, stdout io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all []Beside
	for _, c := range cases {
		if _, ok := booksimConfig(c); !ok {
			continue
		}
		b := Beside{Runs{Case: c}, Runs{Case: c}}
		for k := range c.seeds() {
			if err := b.Theirs.addBookSim(ctx, o.booksim, k); err != nil {
				return fmt.Errorf("case %s: %s: %w", c["case"], o.booksim, err)
			}
			if err := b.Ours.add(k); err != nil {
				return err
			}
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return proc.Usagef("--referee: none of these cases runs on BookSim without additions")
	}
	printBeside(stdout, all)
	return nil
}

const maxPrinted = 64 << 20

func (r *Runs) addBookSim(ctx context.Context, binary string, k int) error {
	config, _ := booksimConfig(r.Case.seeded(k))
	cmd := exec.CommandContext(ctx, binary, "/dev/stdin")
	cmd.Stdin = strings.NewReader(config)
	printed, err := proc.Output(cmd, maxPrinted)
	if cmd.ProcessState == nil {
		return err
	}
	// Its exit code says whether the network was stable, not whether it ran.
	r.CPU += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	share, err := booksimAccepted(string(printed))
	r.Results = append(r.Results, &Result{Accepted: share})
	return err
}

// samples is the sample period that BookSim is given, in cycles.
const samples = 2000

// booksimConfig returns the configuration file with which BookSim, as published, runs a case.
// It is not ok for the cases that need something added to it: traffic and routing of
// their own, explicit networks, cut-through and whole exchanges.
func booksimConfig(c Case) (text string, ok bool) {
	kary, size, err := parseCall(c["topology"])
	warm, window := c.int("warmup_cycles"), c.int("measured_cycles")
	switch {
	case c["sim"] != booksim || err != nil || kary != "kary" || len(size) != 2,
		c["routing"] != "nca" && c["routing"] != "anca", c["traffic"] != "uniform",
		c["pipeline"] != "lean" && c["pipeline"] != "default",
		c["offered"] == "batch", warm%samples != 0, window%samples != 0:
		return "", false
	}
	ahead, speculative := 0, 1
	if c["pipeline"] == "default" {
		ahead, speculative = 1, 0
	}
	return fmt.Sprintf(`topology=fattree; k=%d; n=%d; routing_function=%s;
traffic=uniform; injection_process=bernoulli; injection_rate_uses_flits=1; injection_rate=%s; packet_size=%s;
num_vcs=%s; vc_buf_size=%s; router=iq; buffer_policy=private;
vc_allocator=islip; sw_allocator=islip; arb_type=round_robin; alloc_iters=1; internal_speedup=1.0; routing_delay=%d; speculative=%d;
vc_alloc_delay=1; sw_alloc_delay=1; st_prepare_delay=0; st_final_delay=1; credit_delay=0; output_delay=0;
sim_type=throughput; sample_period=%d; warmup_periods=%d; max_samples=%d; acc_stopping_thres=0.0; stopping_thres=0.0; seed=%s;
`, size[0], size[1], c["routing"], c["offered"], c["packet_flits"], c["vcs"], c["buf_flits"], ahead, speculative,
		samples, warm/samples, (warm+window)/samples, c["seed"]), true
}

var acceptedRate = regexp.MustCompile(`(?m)^Accepted flit rate average = ([0-9.e+-]+)`)

func booksimAccepted(printed string) (float64, error) {
	all := acceptedRate.FindAllStringSubmatch(printed, -1)
	if len(all) == 0 {
		tail := strings.TrimSpace(printed)
		return 0, fmt.Errorf("no accepted flit rate in its output, which ends with %q", tail[max(0, len(tail)-200):])
	}
	return strconv.ParseFloat(all[len(all)-1][1], 64)
}

// printBeside prints the cases that both ran: means over seeds, their difference beside
// three standard errors of it, and theirs over our processor time.
func printBeside(w io.Writer, all []Beside) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ours\ttheirs\toff\t3 s.e.\tseeds\ttheir time/ours\tcase")
	var ratios, offs []float64
	for _, b := range all {
		ours, a := b.Ours.of(accepted)
		theirs, e := b.Theirs.of(accepted)
		off, ratio := ours/theirs-1, b.Theirs.CPU.Seconds()/b.Ours.CPU.Seconds()
		ratios, offs = append(ratios, ratio), append(offs, off)
		noise, seeds := "–", len(b.Ours.Results)
		if seeds > 1 {
			noise = fmt.Sprintf("%.2f %%", 3*math.Hypot(a, e)/math.Sqrt(float64(seeds))/theirs*100)
		}
		fmt.Fprintf(t, "%.5f\t%.5f\t%+.2f %%\t%s\t%d\t%.3g\t%s\n", ours, theirs, off*100, noise, seeds, ratio, b.Ours.Case.name())
	}
	t.Flush()
	fmt.Fprintf(w, "%d cases beside a BookSim built here: mean off %+.2f %%; median of their processor time over ours %.3g (%.3g to %.3g)\n",
		len(all), results.NewStat(offs).Mean*100, results.Middle(ratios), slices.Min(ratios), slices.Max(ratios))
}
