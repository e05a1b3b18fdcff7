package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/routing"
)

// A Side is one of the two compared runs.
type Side struct {
	Path    string    `json:"path"`
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Fabric  string    `json:"fabric"`
	run     *results.Run
}

// NewSide takes a run that was read from path, and checks that it is complete.
func NewSide(path string, run *results.Run) (Side, error) {
	if err := Check(run); err != nil {
		return Side{}, fmt.Errorf("%s: %w", path, err)
	}
	return Side{path, run.Manifest.Name, run.Manifest.Started, run.Manifest.Fabric.Kind, run}, nil
}

// A Comparison is the full result for two runs.
type Comparison struct {
	Schema      string       `json:"schema"`
	Base        Side         `json:"base"`
	New         Side         `json:"new"`
	Differences []Difference `json:"differences"`
	Report
	Conditions  []Condition  `json:"fail_if"`
	Regressions []Regression `json:"regressions"`
	Undecided   []Undecided  `json:"undecided"`

	engines routing.Engines
	shown   []string // figures; none: see Only
}

// Between compares two runs, and judges the change by the conditions. Runs measured under different
// conditions, or without a common case, are errors. force accepts the former, and invalid repeats.
// x has the engines of their plans beside routing's own.
func Between(base, next Side, conditions []Condition, force bool, x routing.Engines) (*Comparison, error) {
	differences := Differences(base.run, next.run)
	if !force {
		if err := refuse(base, next, differences); err != nil {
			return nil, err
		}
	}
	r := Runs(base.run, next.run, force)
	if len(r.Cases) == 0 {
		return nil, fmt.Errorf("%s and %s have no case in common: %s; %s", base.Path, next.Path, quoted(r.Missing), quoted(r.Added))
	}
	c := &Comparison{Schema: "evbench/compare/1", Base: base, New: next, Differences: differences, Report: r, Conditions: conditions, engines: x}
	c.Regressions, c.Undecided = r.Judge(conditions)
	return c, nil
}

func (c *Comparison) Document() answer.Document {
	return answer.Document{Answer: c.Answer(), Text: c.WriteText, Fields: c, Table: c.rows()}
}

func (c *Comparison) WriteFindings(w io.Writer) {
	for _, r := range c.Regressions {
		fmt.Fprintf(w, "regression: case %q: %s %s, beyond %s\n", r.Case, r.Figure, percentText(r.Change), r.Condition)
	}
	for _, u := range c.Undecided {
		fmt.Fprintf(w, "cannot say: %s\n", u)
	}
}

// String names the open question and its reason.
func (u Undecided) String() string {
	var parts []string
	if u.Case != "" {
		parts = append(parts, fmt.Sprintf("case %q", u.Case))
	}
	if u.Figure != "" {
		parts = append(parts, u.Figure)
	}
	return strings.Join(append(parts, u.Reason), ": ")
}

func refuse(base, next Side, differences []Difference) error {
	var lines []string
	if isSimulated(base.run) != isSimulated(next.run) {
		simulated, measured := base, next
		if isSimulated(next.run) {
			simulated, measured = next, base
		}
		lines = append(lines, fmt.Sprintf("%s was simulated, %s was measured: a prediction is not a base to regress from", simulated.Path, measured.Path))
	}
	for _, d := range differences {
		if !d.Noted {
			lines = append(lines, d.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s and %s were not measured alike; --force compares them all the same:\n  %s",
		base.Path, next.Path, strings.Join(lines, "\n  "))
}

func quoted(names []string) string { return strings.Join(lists.Map(names, strconv.Quote), ", ") }

// lossy reports whether a change of a figure is for the worse: more for waiting, less for others.
func lossy(figure string, change float64) bool {
	return math.Signbit(change) != (figure == barrierWaits)
}

// A Difference is a property in which two runs differ.
type Difference struct {
	Case string `json:"case,omitempty"` // empty: of the whole run
	What string `json:"what"`
	Base string `json:"base"`
	New  string `json:"new"`
	// Noted differences may be the purpose of a comparison. Others make two runs incomparable.
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

// Differences lists the differences of two runs: first those that make them incomparable, in the
// order of the cases, then those only noted.
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

// cases compares the settings of a case; all its repeats have the same.
func (d *differences) cases(name string, base, next []repeat) {
	a, b := base[0].Case, next[0].Case
	d.add(name, "plan", short(a.PlanHash, b.PlanHash), short(b.PlanHash, a.PlanHash))
	if x, y := eventSize(base), eventSize(next); x.differs(y) {
		d.add(name, "event size", x.String(), y.String())
	}
	d.note(name, "mode", string(a.Mode), string(b.Mode))
	d.note(name, "barrier", a.Barrier, b.Barrier)
	d.note(name, "failures", strings.Join(a.Failures, ", "), strings.Join(b.Failures, ", "))
	d.note(name, "fail-over", cmp.Or(a.Failover, "not asked for"), cmp.Or(b.Failover, "not asked for"))
	d.note(name, "deliver", a.Deliver, b.Deliver)
	d.note(name, "check", a.Check, b.Check)
	d.note(name, "io", a.IO, b.IO)
}

// short shortens a hash, unless both begin alike.
func short(hash, other string) string {
	const enough = len("sha256:") + 12
	if len(hash) <= enough || strings.HasPrefix(other, hash[:enough]) {
		return hash
	}
	return hash[:enough]
}

// A size is the sampled event size of a case: mean and standard error.
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

// Limits on the distance of mean sizes: a share of the mean, and for random sizes a number of
// standard errors.
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

// String has enough digits to distinguish different sizes.
func (s size) String() string { return fmt.Sprintf("%.0f B", s.mean) }
