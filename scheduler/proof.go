package scheduler

import (
	"math"
	"slices"
)

// A Proof is a time, in message times, that no plan of an exchange goes below, whichever of their candidate paths
// messages take and also in parts, with weights of links that prove it: with any weights w ≥ 0 each message puts at
// least the weight of its lightest path on the links, and in a message time a link of rate r carries at most r·w.
// So the time is at least Σ over messages of min over paths of w(path) / Σ over links of r·w, by the duality
// of linear programs with the best weights the least largest load of a link. A single link that all of its messages have
// to pass has weight 1, all others 0.
type Proof struct {
	Time    float64
	Weights []float64 // by link
}

// Prove returns the best proof of some rounds. route puts all messages on their lightest paths by some weights, adds what
// links carry to load and returns the weight of all. The weights come from the multiplicative weights method (Arora,
// Hazan and Kale, "The multiplicative weights update method", Theory of Computing 2012): a link that a round has loaded
// grows heavier. Its step falls with the square root of the rounds from a tenth of their number on, which in networks of
// 20 to 1,000 links came nearest to the optimum of a linear program. O(rounds · route).
func Prove(rates []float64, rounds int, route func(weight, load []float64) float64) (best Proof) {
	weight, load := make([]float64, len(rates)), make([]float64, len(rates))
	for l, rate := range rates {
		weight[l] = 1 / rate
	}
	for round := range rounds {
		clear(load)
		sum, all := route(weight, load), 0.0
		for l, w := range weight {
			all += w * rates[l]
		}
		if all == 0 {
			return best
		}
		if time := sum / all; time > best.Time {
			best.Time, best.Weights = time, append(best.Weights[:0], weight...)
		}
		most := 1.0
		for l, x := range load {
			most = max(most, x/rates[l])
		}
		for l, x := range load {
			weight[l] *= math.Exp(1 / math.Sqrt(1+float64(round)/10) * x / rates[l] / most)
		}
		if heaviest := slices.Max(weight); heaviest > 1e100 {
			for l := range weight {
				weight[l] /= heaviest
			}
		}
	}
	return best
}

// lightest is the weight of all messages on their lightest paths, added to load.
func (p *Problem) lightest(of *Candidates, weight, load []float64) (sum float64) {
	for m := range p.Hosts * p.Hosts {
		least, best := math.Inf(1), 0
		for c := range of.all(m) {
			x := 0.0
			for _, l := range of.Of(m, c) {
				x += weight[l]
			}
			if x < least {
				least, best = x, c
			}
		}
		if of.Count(m) == 0 {
			continue
		}
		src, dst, size := m/p.Hosts, p.Hosts+m%p.Hosts, p.Size(m)
		sum += size * (weight[src] + weight[dst] + least)
		load[src] += size
		load[dst] += size
		for _, l := range of.Of(m, best) {
			load[l] += size
		}
	}
	return sum
}

// Weigh is the weight of all messages on their lightest paths by weights of links, which prove a time as in a Proof.
func (p *Problem) Weigh(weights []float64) float64 {
	return p.lightest(p.Lay(), weights, make([]float64, len(weights)))
}

// proofWork bounds the rounds of Least: messages looked at in all, some seconds. mostRounds are enough for six digits.
const (
	proofWork  = 40_000_000
	mostRounds = 400
)

// Least returns a time that no plan of the problem goes below: that of the fullest port of a host, whose messages all pass
// it, or of the links between switches by their weights. A mixture of both proves no more than the better one.
func (p *Problem) Least() Proof {
	ports := 2 * p.Hosts
	loads, messages, at := make([]float64, ports), 0, -1
	p.Each(func(src, dst int) {
		size := p.Size(src*p.Hosts + dst)
		loads[src] += size
		loads[p.Hosts+dst] += size
		messages++
	})
	host := Proof{Weights: make([]float64, len(p.Links))}
	for l, load := range loads {
		if time := load / p.Links[l].Rate(); time > host.Time {
			host.Time, at = time, l
		}
	}
	if at < 0 {
		return host
	}
	host.Weights[at] = 1
	rates, weights, sums := make([]float64, 0, len(p.Links)), make([]float64, len(p.Links)), make([]float64, len(p.Links))
	for _, link := range p.Links[ports:] {
		rates = append(rates, link.Rate())
	}
	of := p.Lay()
	links := Prove(rates, min(mostRounds, 1+proofWork/messages), func(weight, load []float64) float64 {
		copy(weights[ports:], weight)
		clear(sums)
		sum := p.lightest(of, weights, sums)
		copy(load, sums[ports:])
		return sum
	})
	if links.Time <= host.Time*(1+1e-9) {
		return host
	}
	copy(weights[ports:], links.Weights)
	return Proof{links.Time, weights}
}
