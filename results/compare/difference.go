package compare

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"evbench/internal/unit"
	"evbench/results"
)

// A Difference is something that two runs do not have in common.
type Difference struct {
	Case string `json:"case,omitempty"` // empty: of the whole run
	What string `json:"what"`
	Base string `json:"base"`
	New  string `json:"new"`
	// Noted: worth knowing, but a comparison may well be about it. Others make
	// two runs incomparable.
	Noted bool `json:"noted"`
}

func (d Difference) String() string {
	where := ""
	if d.Case != "" {
		where = fmt.Sprintf("case %q: ", d.Case)
	}
	return fmt.Sprintf("%s%s: %s in the base, %s in the new run", where, d.What, d.Base, d.New)
}

const simulatedKind = "sim"

func isSimulated(run *results.Run) bool { return run.Manifest.Fabric.Kind == simulatedKind }

// Differences lists what two runs do not have in common: first what makes them
// incomparable, in the order of the cases, then what is only noted.
func Differences(base, next *results.Run) []Difference {
	d := differences{refused: []Difference{}}
	a, b := base.Manifest, next.Manifest
	if isSimulated(base) == isSimulated(next) {
		d.add("", "fabric", a.Fabric.Kind, b.Fabric.Kind)
	}
	d.add("", "link rate", rateText(a.Fabric), rateText(b.Fabric))
	d.add("", "MTU", fmt.Sprint(a.Fabric.MTU), fmt.Sprint(b.Fabric.MTU))
	d.add("", "transport", a.Transport, b.Transport)
	d.note("", "host", a.Host, b.Host)
	d.note("", "processor", fmt.Sprintf("%s, %d cores", a.CPU, a.Cores), fmt.Sprintf("%s, %d cores", b.CPU, b.Cores))
	d.note("", "kernel", a.Kernel, b.Kernel)
	d.note("", "evbench", a.Versions["evbench"], b.Versions["evbench"])
	d.note("", "seed", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed))
	x, y := split(base), split(next)
	for _, name := range x.names {
		if y.cases[name] != nil {
			d.cases(name, x.cases[name], y.cases[name])
		}
	}
	return append(d.refused, d.noted...)
}

type differences struct{ refused, noted []Difference }

func (d *differences) add(name, what, base, next string) {
	differ(&d.refused, Difference{name, what, base, next, false})
}

func (d *differences) note(name, what, base, next string) {
	differ(&d.noted, Difference{name, what, base, next, true})
}

func differ(list *[]Difference, x Difference) {
	if x.Base != x.New {
		x.Base, x.New = cmp.Or(x.Base, "none"), cmp.Or(x.New, "none")
		*list = append(*list, x)
	}
}

func rateText(f results.Fabric) string {
	if f.RateBitPerSec == 0 {
		return "not known"
	}
	return unit.Rate(f.RateBitPerSec).String()
}

// cases compares what a case was; all its repeats were the same.
func (d *differences) cases(name string, base, next []repeat) {
	a, b := base[0].Case, next[0].Case
	d.add(name, "plan", short(a.PlanHash, b.PlanHash), short(b.PlanHash, a.PlanHash))
	if x, y := eventSize(base), eventSize(next); x.differs(y) {
		d.add(name, "event size", x.String(), y.String())
	}
	d.note(name, "mode", a.Mode, b.Mode)
	d.note(name, "barrier", a.Barrier, b.Barrier)
	d.note(name, "failures", strings.Join(a.Failures, ", "), strings.Join(b.Failures, ", "))
	d.note(name, "fail-over", cmp.Or(a.Failover, "not asked for"), cmp.Or(b.Failover, "not asked for"))
	d.note(name, "deliver", a.Deliver, b.Deliver)
	d.note(name, "check", a.Check, b.Check)
	d.note(name, "io", a.IO, b.IO)
}

// short shortens a hash, unless the other begins alike.
func short(hash, other string) string {
	const enough = len("sha256:") + 12
	if len(hash) <= enough || strings.HasPrefix(other, hash[:enough]) {
		return hash
	}
	return hash[:enough]
}

// A size is what events of a case had, as sampled: mean and its standard error.
type size struct {
	mean, err float64
	n         int
}

func eventSize(repeats []repeat) (s size) {
	var sum, square float64
	for _, r := range repeats {
		for _, x := range r.samples {
			if x.Events > 0 {
				v := float64(x.EventBytes)
				sum, square, s.n = sum+v, square+v*v, s.n+1
			}
		}
	}
	if s.n > 0 {
		n := float64(s.n)
		s.mean = sum / n
		s.err = math.Sqrt(max(0, square/n-s.mean*s.mean) / n)
	}
	return s
}

// How far mean sizes may lie apart: a share of them, and so many standard errors
// where sizes are random.
const (
	sizeTolerance = 0.001
	sizeErrors    = 4
)

// differs is false where no size was sampled.
func (s size) differs(t size) bool {
	if s.n == 0 || t.n == 0 {
		return false
	}
	return math.Abs(s.mean-t.mean) > max(sizeTolerance*max(s.mean, t.mean), sizeErrors*math.Hypot(s.err, t.err))
}

// String is exact enough to tell sizes that differ apart.
func (s size) String() string { return fmt.Sprintf("%.0f B", s.mean) }
