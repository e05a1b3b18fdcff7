package builder

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"evbench/builder/load"
)

// Distributions of sizes.
const (
	Uniform     = load.Uniform
	Exponential = load.Exponential
	LogNormal   = load.LogNormal
)

// Which fragments share a size.
const (
	ByFragment    = "fragment"     // none: each is drawn on its own
	BySource      = "source"       // all fragments of a source
	ByEvent       = "event"        // all fragments of an event
	BySourceEvent = "source-event" // size is a factor of the source times a factor of the event
	ByExchange    = "exchange"     // only in a Table: all fragments of a source in an exchange
)

// Distributions and Bys list the valid names. TableBys lists the names valid for a Table.
func Distributions() []string { return []string{Uniform, Exponential, LogNormal} }
func Bys() []string           { return []string{ByFragment, BySource, ByEvent, BySourceEvent} }
func TableBys() []string      { return []string{ByEvent, ByExchange} }

// Limits of a Distribution.
const (
	MaxSpread = 0.9
	MaxSigma  = 2
	// Most is the largest fragment that is drawn, over the mean. Larger values of an exponential or
	// log-normal distribution are cut to it to bound a receiver's buffers: one in 9 million
	// exponential fragments, one in 1,900 log-normal ones with σ 1 (the mean falls by 0.3 %).
	Most = 16
	// MaxTable bounds the numbers of a Table, which goes to every worker.
	MaxTable = 1 << 18
	maxScale = 1 << 30
)

// A Distribution says how sizes differ. In the zero value all sizes are equal.
type Distribution struct {
	Kind   string  `json:",omitempty"` // of Distributions; "": Uniform
	By     string  `json:",omitempty"` // of Bys; "": ByFragment
	Spread float64 `json:",omitempty"` // of Uniform, 0..MaxSpread
	Sigma  float64 `json:",omitempty"` // of LogNormal, 0..MaxSigma; by source-event it applies to each factor

	// Fanout is the number of builders that get a fragment from a source in each exchange, drawn
	// anew each time. The others, and the source itself, get 0 bytes. 0: all builders.
	Fanout int `json:",omitempty"`

	// Table, if any, states the sizes in place of Kind: [row][source], in units of Scale bytes. A
	// row holds for an event or an exchange (By). After the last row the first follows.
	Table []uint32 `json:",omitempty"`
	Scale float64  `json:",omitempty"`
	// Gaps are the events, by their ids, before which rows are left out: the events of a trace that were refused.
	Gaps []load.Gap `json:"-"`
}

// Equal reports whether all fragments have one size.
func (d Distribution) Equal() bool {
	return d.Table == nil && d.Fanout == 0 && (d.Kind == "" || d.Kind == Uniform) && d.Spread == 0
}

// String describes the sizes: "", "±50 %", "exponential", "log-normal σ 1 by source, to 8 each".
func (d Distribution) String() string {
	text := d.Kind
	switch {
	case d.Equal():
		return ""
	case d.Table != nil:
		return "of a file"
	case d.Kind == LogNormal:
		text = fmt.Sprintf("%s σ %g", d.Kind, d.Sigma)
	case d.Kind == Exponential:
	case d.Spread > 0:
		text = fmt.Sprintf("±%g %%", math.Round(1e4*d.Spread)/100)
	default:
		text = "equal"
	}
	switch d.By {
	case BySource, ByEvent:
		text += " by " + d.By
	case BySourceEvent:
		text += " by source and event"
	}
	if d.Fanout > 0 {
		text += fmt.Sprintf(", to %d each", d.Fanout)
	}
	return text
}

// Check refuses values that cannot be drawn for such roles. Its errors begin with the field.
func (d Distribution) Check(roles Roles) error {
	switch {
	case d.Table != nil:
		return d.checkTable(roles.Servers)
	case d.Kind != "" && !slices.Contains(Distributions(), d.Kind):
		return fmt.Errorf("distribution: no %q; there are %s", d.Kind, strings.Join(Distributions(), ", "))
	case d.By != "" && !slices.Contains(Bys(), d.By):
		return fmt.Errorf("by: no %q; there are %s", d.By, strings.Join(Bys(), ", "))
	case !(d.Spread >= 0 && d.Spread <= MaxSpread): // NaN fails too
		return fmt.Errorf("spread: %v, must be 0..%v", d.Spread, MaxSpread)
	case !(d.Sigma >= 0 && d.Sigma <= MaxSigma):
		return fmt.Errorf("sigma: %v, must be 0..%v", d.Sigma, MaxSigma)
	case d.Fanout < 0 || d.Fanout > 0 && d.Fanout > roles.MostFanout():
		return fmt.Errorf("fanout: %d, must be 1..%d, the other servers", d.Fanout, roles.MostFanout())
	}
	return nil
}

func (d Distribution) checkTable(servers int) error {
	switch {
	case servers < 1 || len(d.Table) == 0 || len(d.Table)%servers != 0 || len(d.Table) > MaxTable:
		return fmt.Errorf("file: %d numbers for %d servers, must be rows of as many, %d numbers at most", len(d.Table), servers, MaxTable)
	case !slices.Contains(TableBys(), d.By):
		return fmt.Errorf("by: no %q; of a file there are %s", d.By, strings.Join(TableBys(), ", "))
	case !(d.Scale > 0 && d.Scale <= maxScale): // NaN fails too
		return fmt.Errorf("file: scale %v, must be above 0 and at most %v", d.Scale, float64(maxScale))
	case d.Kind != "" || d.Spread != 0 || d.Sigma != 0 || d.Fanout != 0:
		return errors.New("file: states all sizes, so nothing is drawn beside")
	}
	return nil
}

// Sizes says how large each fragment is, in a run, a simulation and a prediction: no other code
// does. It is a pure function of event and source, so sender and receiver agree without a message.
// A fragment of 0 bytes is sent too, as a header without payload, so that an event is complete once
// every source has been heard.
type Sizes struct {
	Mean  int // bytes
	Seed  uint64
	Roles // the participants of exchanges. For Fanout and Table
	Distribution
}

// Of returns the payload bytes of one fragment. It allocates nothing.
func (s *Sizes) Of(event uint64, source int) int {
	switch {
	case s.Table != nil:
		return s.stated(event, source)
	case s.Fanout > 0 && !s.meant(event, source):
		return 0
	case s.Kind == "" || s.Kind == Uniform:
		return s.uniform(event, source)
	}
	return max(1, int(min(Most, s.factor(event, source))*float64(s.Mean)+0.5))
}

// Max returns the largest size that Of can return.
func (s *Sizes) Max() int {
	switch {
	case s.Table != nil:
		most := uint32(0)
		for _, x := range s.Table {
			most = max(most, x)
		}
		return s.scaled(most)
	case s.Equal():
		return s.Mean
	case s.Kind == Exponential || s.Kind == LogNormal:
		return Most * s.Mean
	case s.By == BySourceEvent:
		most := uint64(s.Mean + s.half())
		return int(most * most / uint64(max(s.Mean, 1)))
	}
	return s.Mean + s.half()
}

func (s *Sizes) half() int { return int(float64(s.Mean) * s.Spread) }

// uniform draws whole bytes, all equally likely.
func (s *Sizes) uniform(event uint64, source int) int {
	half := s.half()
	if half == 0 {
		return s.Mean
	}
	of := func(hash uint64) int { return s.Mean - half + int(hash%uint64(2*half+1)) }
	switch a, b := s.hashes(event, source); s.By {
	case BySource:
		return of(a)
	case ByEvent:
		return of(b)
	case BySourceEvent:
		return max(1, int(uint64(of(a))*uint64(of(b))/uint64(s.Mean)))
	}
	return of(mix(event, source, s.Seed))
}

func (s *Sizes) hashes(event uint64, source int) (ofSource, ofEvent uint64) {
	return mix(math.MaxUint64, source, s.Seed), mix(event, -1, s.Seed)
}

// factor is a size over the mean.
func (s *Sizes) factor(event uint64, source int) float64 {
	switch a, b := s.hashes(event, source); s.By {
	case BySource:
		return s.draw(a)
	case ByEvent:
		return s.draw(b)
	case BySourceEvent:
		return s.draw(a) * s.draw(b)
	}
	return s.draw(mix(event, source, s.Seed))
}

func (s *Sizes) draw(hash uint64) float64 {
	return load.Variation{Kind: s.Kind, Sigma: s.Sigma}.Of(hash)
}

func (s *Sizes) stated(event uint64, source int) int {
	n := uint64(s.Servers)
	rows := uint64(len(s.Table)) / n
	row := load.Row(s.Gaps, event)
	if s.By == ByExchange {
		row = event / uint64(s.Events())
	}
	return s.scaled(s.Table[row%rows*n+uint64(source)])
}

func (s *Sizes) scaled(x uint32) int {
	if x == 0 {
		return 0
	}
	return max(1, int(float64(x)*s.Scale+0.5))
}

// meant reports whether a source has a fragment for an event: whether the event is among the first
// Fanout events of its exchange that other servers build, in an order drawn for source and
// exchange.
func (s *Sizes) meant(event uint64, source int) bool {
	n := uint64(s.Events())
	exchange, place := event/n, event%n
	if own := s.Place(source); own >= 0 {
		if place == uint64(own) {
			return false
		}
		place = (place + n - uint64(own) - 1) % n // 0..n-2
		n--
	}
	return permuted(place, n, mix(exchange, source, ^s.Seed)) < uint64(s.Fanout)
}

// permuted returns the place of x in a permutation of 0..n-1 chosen by key. Invertible steps
// shuffle x among the next power of two until x is below n. It takes no memory and at most two
// rounds on average.
func permuted(x, n, key uint64) uint64 {
	b := bits.Len64(n - 1)
	mask := uint64(1)<<b - 1
	for {
		for round := range uint64(4) {
			k := mix(round, b, key)
			x = (x*(k|1) + k>>32) & mask
			x ^= x >> ((b + 1) / 2)
		}
		if x < n {
			return x
		}
	}
}
