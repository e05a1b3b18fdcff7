package main

import (
	"math"
	"strings"

	"evbench/sim/credit"
)

// A Tolerance is how far ours may be off: a share of theirs and an amount beside it.
type Tolerance struct {
	Quantity string
	Share    float64
	Plus     float64 // cycles or ns
	Source   string  // row of COMPARING.md, or whose semantics
}

// The quantities that are compared.
const (
	zeroLoad      = "zero-load latency"
	free          = "free of contention"
	freeBatch     = "exchange free of contention"
	shared        = "shared links, mean"
	sharedWorst   = "shared links, worst"
	below         = "accepted below saturation"
	belowLong     = "accepted below saturation, long messages"
	latency       = "latency"
	satUniform    = "saturation, uniform"
	satShift      = "saturation, shift decided on the way"
	satSequence   = "saturation, sequences"
	satOMNeT      = "saturation, OMNeT"
	exchange      = "exchange that collides"
	fullLoadShare = 0.97 // of what is offered: a row that accepts less is saturated
)

var tolerances = []Tolerance{
	{zeroLoad + ", " + BookSim, 0, 0, "zero-load latency: exact"},
	{zeroLoad + ", " + OMNeT, 0, 5, "zero-load latency: 5 ns"},
	{free, 0.002, 0, "contention-free permutations: 0.2 %"},
	{freeBatch, 0, 2, "one synchronous exchange: 2 cycles"},
	{shared, 0.005, 0, "permutations with a dead link: 0.5 % of the mean"},
	{sharedWorst, 0.02, 0, "permutations with a dead link: 2 % of the worst"},
	{below, 0.01, 0, "accepted = offered below 85 % of saturation: 1 %"},
	{belowLong, 0.01, 0, "accepted below 85 % of saturation: 1 %"},
	{latency + ", " + BookSim, 0.03, 0.3, "mean latency up to 60 % of saturation: 3 % + 0.3 cycles"},
	{latency + ", " + OMNeT, 0.05, 0, "mean latency up to 60 % of saturation: OMNeT 5 %"},
	{satUniform, 0.02, 0, "saturation, one VL: 2 % (uniform)"},
	{satShift, 0.02, 0, "saturation, one VL: 2 %, as uniform"},
	{satSequence, 0.04, 0, "saturation, one VL: 4 % (shiftseq, randmsg)"},
	{satOMNeT, 0.04, 0, "OMNeT saturation, 128 and 800 flits: 4 %"},
	{exchange, 0.06, 0, "one exchange that collides: 6 %"},
}

// A Check is a quantity of a case, ours beside theirs.
type Check struct {
	Case         Case
	Tolerance    Tolerance
	Ours, Theirs float64
	// Noise is three standard deviations of the difference between the mean of our seeds
	// and one seed, which theirs is: of some hundred comparisons chance takes none beyond.
	Noise float64
	Out   bool
}

// Allowed returns how far ours may be off.
func (c *Check) Allowed() float64 { return c.Tolerance.Share*c.Theirs + c.Tolerance.Plus }

type judge struct{ saturation map[string]float64 }

// Judge compares what COMPARING.md lists.
func Judge(all []Runs) (checks []Check) {
	j := judge{map[string]float64{}}
	for _, r := range all {
		if c := r.Case; saturated(c) {
			if s, ok := j.saturation[group(c)]; !ok || c.number("accepted") < s {
				j.saturation[group(c)] = c.number("accepted")
			}
		}
	}
	for i := range all {
		checks = append(checks, j.checks(&all[i])...)
	}
	return checks
}

// group is what the cases of one curve share.
func group(c Case) string {
	var key []string
	for _, f := range []string{"sim", "topology", "routing", "traffic", "pipeline", "vcs", "vls",
		"buf_flits", "packet_flits", "max_parallel_reads", "msg_packets", "injection"} {
		key = append(key, c[f])
	}
	return strings.Join(key, " ")
}

func full(c Case) bool {
	return c.number("offered") >= 1
}

// saturated reports whether the referee delivers less than is offered.
func saturated(c Case) bool {
	return c["offered"] != "batch" && (full(c) || c.number("accepted") < fullLoadShare*c.number("offered"))
}

// permutation reports whether all hosts send to different ones at any time.
func permutation(c Case) bool { return strings.Contains(c["traffic"], "shift") }

// left reports whether COMPARING.md says not to compare a case: a bubble caps its rate.
func left(c Case) bool {
	return c["sim"] == BookSim && c.int("packet_flits") == 1 && c["pipeline"] == "default"
}

func (j *judge) checks(r *Runs) (checks []Check) {
	c := r.Case
	add := func(quantity string, ours, theirs, spread float64) {
		checks = append(checks, check(r, quantity, ours, theirs, spread))
	}
	switch {
	case left(c):
	case c["offered"] == "batch":
		ideal := float64(permutationCycles(c))
		quantity := exchange
		if math.Abs(c.number("batch_cycles")-ideal) < ideal*0.02 {
			quantity = freeBatch
		}
		add(quantity, r.Mean.Batch, c.number("batch_cycles"), r.Spread.Batch)
	case saturated(c):
		j.full(r, add)
	default:
		j.partial(r, add)
	}
	return checks
}

// permutationCycles returns how long an exchange takes in which nothing collides.
func permutationCycles(c Case) int {
	n, err := build(c["topology"])
	if err != nil {
		return 0
	}
	_, packets, _ := pattern(c["traffic"], n.Hosts())
	return (n.Hosts() - 1) * int(packets) * c.int("packet_flits")
}

// full compares the throughput of a saturated case.
func (j *judge) full(r *Runs, add func(string, float64, float64, float64)) {
	c := r.Case
	ours, theirs, spread := r.Mean.Accepted, c.number("accepted"), r.Spread.Accepted
	switch {
	case full(c) && permutation(c) && theirs > 0.99:
		add(free, ours, theirs, spread)
	case full(c) && strings.HasPrefix(c["traffic"], "shift(") && choices[c["routing"]] != credit.First:
		add(satShift, ours, theirs, spread)
	case full(c) && strings.HasPrefix(c["traffic"], "shift("):
		add(shared, ours, theirs, spread)
		add(sharedWorst, r.Mean.Worst, c.number("accepted_min_host"), r.Spread.Worst)
	case c["sim"] == OMNeT:
		if b := c.int("buf_flits"); b == 128 || b == 800 {
			add(satOMNeT, ours, theirs, spread)
		}
	case c["traffic"] == "uniform":
		add(satUniform, ours, theirs, spread)
	default:
		add(satSequence, ours, theirs, spread)
	}
}

// partial compares throughput and latency of a case below saturation.
func (j *judge) partial(r *Runs, add func(string, float64, float64, float64)) {
	c := r.Case
	s, ok := j.saturation[group(c)]
	if !ok {
		s = 0.5 // no row says so; none of these networks saturates below
	}
	offered := c.number("offered")
	idle := c["sim"] == OMNeT && offered <= 0.05
	switch {
	case offered >= 0.85*s || idle:
	case paused(c) && c.int("msg_packets") > 1:
		add(belowLong, r.Mean.Accepted, c.number("accepted"), r.Spread.Accepted)
	default:
		add(below, r.Mean.Accepted, expected(c), r.Spread.Accepted)
	}
	if offered > 0.6*s {
		return
	}
	field, least := "mean_latency", "min_latency"
	if c["sim"] == OMNeT {
		field = "tail_latency_ns"
	} else {
		add(zeroLoad+", "+BookSim, r.Mean.Least, c.number(least), 0)
	}
	quantity := latency
	if idle {
		quantity = zeroLoad
	}
	add(quantity+", "+c["sim"], r.Mean.Latency, c.number(field), r.Spread.Latency)
}

// paused reports whether sources pause when the last flit of a message is made. One that is
// longer than the queue of a host, which has room for a packet, is made no faster than the link
// takes it: such sources offer less than they are told, with four packets 0.48 for 0.5.
func paused(c Case) bool { return c["sim"] == OMNeT && c["injection"] != "genrate" }

// expected returns what a case below saturation offers. The pauses of OMNeT's sources
// begin a flit's time before the generator could make the next message.
func expected(c Case) float64 {
	offered := c.number("offered")
	if paused(c) {
		flits := float64(c.int("msg_packets") * c.int("packet_flits"))
		return 1 / (1/offered - float64(credit.FDR().Host.Generate)/(flits*float64(credit.FDRFlit)))
	}
	return offered
}

func check(r *Runs, quantity string, ours, theirs, spread float64) Check {
	c, seeds := r.Case, float64(r.Seeds)
	k := Check{Case: c, Ours: ours, Theirs: theirs, Noise: 3 * spread * math.Sqrt(1+1/seeds)}
	if quantity == below { // theirs is what is offered; ours counts packets drawn at random
		packets := float64(r.Mean.Flits) / float64(c.int("packet_flits"))
		k.Noise = 3 * max(spread/math.Sqrt(seeds), theirs/math.Sqrt(packets))
	}
	for _, t := range tolerances {
		if t.Quantity == quantity {
			k.Tolerance = t
		}
	}
	k.Out = !(math.Abs(ours-theirs) <= max(k.Allowed(), k.Noise)+1e-9)
	return k
}
