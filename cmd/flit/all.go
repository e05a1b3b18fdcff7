package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"time"

	"evbench/internal/parallel"
	"evbench/sim/credit"
)

// Runs are what ours gives for a case with several seeds.
type Runs struct {
	Case   Case
	Mean   Result // over the seeds; Flits is their sum
	Spread Result // standard deviation of one seed
	Seeds  int
	CPU    time.Duration // processor time of all seeds
}

// apart is how far the seeds of one case lie from each other; the simulators' are smaller.
const apart = 1000

// usual are the seeds of a case if none are asked for: OMNeT's windows are short.
var usual = map[string]int{BookSim: 3, OMNeT: 8}

// RunAll runs cases, each with a number of seeds, or as many as are usual if that is 0, on
// all processors; those in which nothing is drawn need one. clock tells the
// processor time of the calling thread.
func RunAll(ctx context.Context, cases []Case, seeds int, clock func() time.Duration) ([]Runs, error) {
	all := make([]Runs, len(cases))
	err := parallel.Try(0, len(cases), func(i int) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var results []*Result
		begun := clock()
		for k := range Seeds(cases[i], seeds) {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := Run(Seeded(cases[i], k))
			if err != nil {
				return fmt.Errorf("case %s: %w", cases[i]["case"], err)
			}
			results = append(results, r)
		}
		all[i] = summarise(cases[i], results)
		all[i].CPU = clock() - begun
		return nil
	})
	return all, err
}

// Seeds returns how many seeds a case is run with: as many as asked for, or as are usual if that is 0.
func Seeds(c Case, asked int) int {
	tables := choices[c["routing"]] == credit.First
	switch {
	case tables && permutation(c) && (c["offered"] == "batch" || c["sim"] == OMNeT && full(c)):
		return 1
	case asked > 0:
		return asked
	}
	return usual[c["sim"]]
}

// Seeded returns a case with its k-th seed; the first is its own.
func Seeded(c Case, k int) Case {
	other := Case{}
	for f, v := range c {
		other[f] = v
	}
	other["seed"] = strconv.Itoa(c.int("seed") + k*apart)
	return other
}

// figures are the fields of a result that are averaged.
func (r *Result) figures() []*float64 {
	return []*float64{
		&r.Accepted, &r.Worst, &r.Latency, &r.Network, &r.MessageLatency, &r.Least, &r.Batch, &r.Hops,
	}
}

func summarise(c Case, results []*Result) Runs {
	runs := Runs{Case: c, Seeds: len(results)}
	n := float64(len(results))
	mean, spread := runs.Mean.figures(), runs.Spread.figures()
	for i := range mean {
		for _, r := range results {
			*mean[i] += *r.figures()[i] / n
		}
		for _, r := range results {
			d := *r.figures()[i] - *mean[i]
			*spread[i] += d * d / max(1, n-1)
		}
		*spread[i] = math.Sqrt(*spread[i])
	}
	for _, r := range results {
		runs.Mean.Flits += r.Flits
	}
	return runs
}
