package judge

import (
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/results/attribution"
	"evbench/testing/expect"
)

// drawn is a verdict of any parts that may stand together.
func drawn(rng *rand.Rand) *Verdict {
	maybe := func() bool { return rng.IntN(2) == 0 }
	share := func() float64 { return 0.05 + 0.95*rng.Float64() }
	v := &Verdict{Network: "n.txt", Hosts: 16, good: Usual, exchange: exchange{each: 15, servers: 16, slots: 1}}
	if maybe() {
		v.AtMost = &AtMost{Efficiency: share(), Healthy: 1, Why: "the link of each host to its leaf is the limit"}
		for range rng.IntN(3) {
			v.Repairs = append(v.Repairs, Repair{Link: "leaf12-spine7", Slow: float64(rng.IntN(2)) / 2, Efficiency: share()})
		}
		if maybe() {
			v.Planned = &Planned{Efficiency: v.AtMost.Efficiency}
		}
	}
	if maybe() {
		v.Tables = &Tables{Unphased: share(), Phased: share() / 2, Decides: maybe(), Links: []LinkLoad{{Direction: Direction{From: "spine1", To: "leaf0"}, Capacity: float64(rng.IntN(2)) / 2}}}
		v.Rerouted = []Tables{{Engine: "dfsssp", Unphased: share()}}
		if maybe() {
			v.Ordered = &Ordered{Efficiency: share()}
		}
	}
	if maybe() {
		m := &Measured{Efficiency: share(), OfAtMost: share(), OfUnphased: share() * 1.5, OfPhased: share()}
		if v.Measured = m; maybe() {
			m.Limit = "the time is the mean of the ranks, and a call ends with the slowest (osu_alltoall -f prints its time)"
		}
		if maybe() {
			v.assumed = ", with one rank an adapter"
		}
	}
	if maybe() {
		v.Pairs = &Pairs{Count: 1 + rng.IntN(240), Usual: 92e9 * share(), Slow: rng.IntN(3), Below: rng.IntN(3)}
		if v.Pairs.Slow > 0 {
			v.Pairs.Pairs = []SlowPair{{Src: "node001 mlx5_0", Dst: "node002 mlx5_0", Rate: 20e9}}
		}
		if maybe() {
			v.Pairs.Causes = []attribution.Cause{{Name: "node001 mlx5_0 or its cable to s1_0", Share: share()}}
		}
	}
	if maybe() {
		if v.Rate = 100e9; v.Pairs != nil {
			v.Pairs.relative = maybe()
			if v.Pairs.OfRate = v.Pairs.Usual / v.Rate; v.Pairs.relative {
				v.Pairs.OfRate = 0
			}
		}
	}
	if rng.IntN(8) == 0 {
		v.Guess = "Slurm does not say how many cables join two switches, or how fast they are"
	}
	if rng.IntN(8) == 0 {
		v.doubt = "its run does not tell: the control reached 0.848 of its prediction, less than 0.90"
	}
	return v
}

// Whatever a verdict holds, its first sentence is taken in at once, and its word keeps the rules: without a result
// nothing is good, a doubt about the run or a guess of rates leaves it open, and a shortfall that no doubt touches is bad.
func TestSentences(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 16))
	seen := map[answer.Verdict]int{}
	for range 20_000 {
		v := drawn(rng)
		a := v.Answer()
		seen[a.Verdict]++
		words := len(strings.Fields(a.Sentence))
		expect.MustTrue(t, words > 3 && words <= 30 && answer.Numbers(a.Sentence) <= 3, "%d words, %d figures: %s", words, answer.Numbers(a.Sentence), a)
		expect.MustFalse(t, strings.Contains(a.String(), "..") || strings.Contains(a.String(), " ,") || strings.Contains(a.String(), "; ;"), "%s", a)
		switch {
		case v.doubt != "" || v.Guess != "":
			expect.MustTrue(t, a.Verdict == answer.Unknown, "%s", a)
		case v.Measured == nil && v.Pairs == nil:
			expect.MustFalse(t, a.Verdict == answer.Good, "%s", a)
		case v.Pairs != nil && v.Pairs.Slow > 0:
			expect.MustTrue(t, a.Verdict == answer.Bad, "%s", a)
		case v.Measured != nil && v.Measured.Limit != "" && v.Pairs == nil:
			expect.MustFalse(t, a.Verdict == answer.Good, "an upper limit: %s", a)
		}
	}
	expect.Equal(t, len(seen), 3, "words")
}
