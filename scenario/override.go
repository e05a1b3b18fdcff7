package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/internal/unit"
)

// Overrides are what the command line changes in a scenario. The zero value of
// a field changes nothing.
type Overrides struct {
	Fabric   string // --fabric
	Rate     unit.Rate
	AutoRate bool          // --rate auto
	Case     string        // --case: only the case of this name
	Repeat   int           // --repeat N, as --rounds N was called
	Rounds   string        // --rounds: auto, or a number
	Limit    time.Duration // --limit
	Duration time.Duration // of every case and control
	Interval time.Duration
	Deliver  string
	Trace    bool // --trace

	Transport string // --transport
	IO        string // --io
}

// Override changes s as o says and checks what that may have broken, of the cases
// that are left. The error names the flag; s is not to be used then.
//
// A fragment that was given as a phase follows a new rate. On plain hosts the
// rate of a lab means nothing: with --fabric hosts and no --rate it is not known,
// and the size of fragments stays. Elsewhere launch and inject mean nothing.
// --transport mpi is for ranks that have been started.
func (s *Scenario) Override(o Overrides) error {
	for _, change := range []func(Overrides) error{s.overrideCase, s.overrideFabric, s.overrideTransport, s.overrideTimes} {
		if err := change(o); err != nil {
			return err
		}
	}
	if o.Deliver != "" {
		if err := s.override("deliver", o.Deliver); err != nil {
			return fmt.Errorf("--deliver: %w", err)
		}
	}
	s.Trace = s.Trace || o.Trace
	return nil
}

// override sets the field of that name.
func (s *Scenario) override(name, text string) error {
	rows := topFields(&top{Scenario: s})
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
	return rows[i].value.set(text)
}

func (s *Scenario) overrideFabric(o Overrides) error {
	if o.Fabric != "" {
		if _, err := oneOf("fabric", Kinds(), nil)(o.Fabric); err != nil {
			return fmt.Errorf("--fabric: %w", err)
		}
		s.changeKind(o.Fabric)
		if err := s.Fabric.suitsWorkers(); err != nil {
			return fmt.Errorf("--fabric %s: fabric.workers: %w", o.Fabric, err)
		}
		if err := s.Fabric.suitsLossless(); err != nil {
			return fmt.Errorf("--fabric %s: fabric.lossless: %w", o.Fabric, err)
		}
		for _, c := range s.Cases {
			if err := c.suitsFabric(s); err != nil {
				return fmt.Errorf("--fabric %s: case %q: %w", o.Fabric, c.Name, err)
			}
		}
	}
	if o.Rate != 0 {
		if err := checkRate(o.Rate); err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		s.Fabric.Rate, s.Fabric.AutoRate = o.Rate, false
	}
	if o.AutoRate {
		if s.Fabric.Kind == Hosts {
			return fmt.Errorf("--rate %s: %w", Auto, errAutoHosts)
		}
		s.Fabric.auto(s.Tree)
	}
	if s.Fabric.Rate == 0 {
		s.Event.Phase = 0
	}
	if err := s.Event.settle(s.Fabric); err != nil {
		return fmt.Errorf("--rate %s: %w", s.Fabric.Rate, err)
	}
	return nil
}

func (s *Scenario) changeKind(kind string) {
	was := s.Fabric.Kind
	s.Fabric.Kind = kind
	switch {
	case kind == Hosts && was != Hosts:
		s.Fabric.Rate, s.Fabric.AutoRate = 0, false
	case kind != Hosts && s.Fabric.Rate == 0:
		s.Fabric.auto(s.Tree)
	}
	if kind != Hosts { // what is said of real hosts means nothing here
		s.Transport, s.Launch, s.Inject = TCP, localLaunch, Inject{}
	}
}

func (s *Scenario) overrideCase(o Overrides) error {
	if o.Case == "" {
		return nil
	}
	i := slices.IndexFunc(s.Cases, func(c Case) bool { return c.Name == o.Case })
	if i < 0 {
		return fmt.Errorf("--case: no case %q; there are %s", o.Case, strings.Join(quoted(s.CaseNames()), ", "))
	}
	s.Cases = s.Cases[i : i+1 : i+1]
	s.Answer = slices.DeleteFunc(s.Answer, func(name string) bool { return name != o.Case })
	return nil
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return out
}

func (s *Scenario) overrideTimes(o Overrides) error {
	if err := s.overrideRounds(o); err != nil {
		return err
	}
	if err := s.overrideDuration(o.Duration); err != nil {
		return err
	}
	name, least := s.shortest()
	if o.Interval == 0 {
		s.Interval = min(s.Interval, least)
		return nil
	}
	if err := lasts(&s.Interval, minInterval, least).set(o.Interval.String()); err != nil {
		return fmt.Errorf("--interval %w, which is how long %s lasts", err, name)
	}
	return nil
}

func (s *Scenario) overrideDuration(d time.Duration) error {
	if d == 0 {
		return nil
	}
	if err := s.override("duration", d.String()); err != nil {
		return fmt.Errorf("--duration %w", err)
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Duration = d
		if j, err := c.checkTimed(without(s.Tree, c.Failures)); err != nil {
			return fmt.Errorf("--duration %s: case %q: failure of %s: %w", short(d), c.Name, c.Timed[j].Name, err)
		}
	}
	return nil
}
