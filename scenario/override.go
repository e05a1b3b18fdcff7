package scenario

import (
	"fmt"
	"slices"
	"strings"

	"evbench/transport"
)

// Overrides are the changes of a scenario from the command line, by flag: those of Flags, and case,
// fabric, transport, trace. An empty value changes nothing.
type Overrides map[string]string

// A Flag overrides a field of scenarios.
type Flag struct {
	Name, Usage string
	Lasts       bool // it is a duration
}

// Flags lists the flags that override a field of any scenario.
func Flags() []Flag {
	var out []Flag
	rows := topFields(&top{Scenario: &Scenario{}})
	i := slices.Index(rows.names(), "fabric")
	for _, r := range slices.Insert(rows, i, fabricFields(&Fabric{})...) {
		if r.usage != "" {
			out = append(out, Flag{r.name, r.usage, r.lasts})
		}
	}
	return out
}

// Override changes s as o says and checks the effects on the remaining cases. The error names the
// flag; do not use s then.
//
// A fragment given as a phase follows a new rate. On plain hosts the rate of a lab has no meaning:
// with --fabric hosts and no --rate it is not known, and the size of fragments stays. On other
// fabrics launch and inject have no meaning. --transport mpi is for ranks that are already started.
func (s *Scenario) Override(o Overrides) error {
	for _, change := range []func(Overrides) error{s.overrideCase, s.overrideFabric, s.overrideFields, s.overrideRoles, s.overrideTransport, s.overrideTimes} {
		if err := change(o); err != nil {
			return err
		}
	}
	return nil
}

// overrideFields sets all fields that have a single value, except the interval, whose limit depends
// on others.
func (s *Scenario) overrideFields(o Overrides) error {
	for _, r := range topFields(&top{Scenario: s}) {
		text := o[r.name]
		if text == "" || r.set == nil || r.name == "interval" {
			continue
		}
		switch err := r.set(text); {
		case err != nil && r.lasts: // which says the text
			return fmt.Errorf("--%s %w", r.name, err)
		case err != nil:
			return fmt.Errorf("--%s: %w", r.name, err)
		}
	}
	return nil
}

func (s *Scenario) overrideFabric(o Overrides) error {
	if kind := o["fabric"]; kind != "" {
		was := s.Fabric.Kind
		if err := fabricFields(&s.Fabric)[0].set(kind); err != nil {
			return fmt.Errorf("--fabric: %w", err)
		}
		s.changedKind(was)
		if err := s.suitsFabric(); err != nil {
			return fmt.Errorf("--fabric %s: %w", kind, err)
		}
	}
	if rate := o["rate"]; rate != "" {
		f, err := s.Fabric.withRate(rate)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		if s.Fabric = f; f.AutoRate && f.Kind == Hosts {
			return fmt.Errorf("--rate %s: %w", Auto, errAutoHosts)
		}
		if f.AutoRate {
			s.Fabric.auto(s.Tree.Shape)
		}
	}
	if s.Event.AutoPhase && s.Fabric.Kind == Hosts {
		return fmt.Errorf("event.phase: %w", errAutoPhase)
	}
	if s.Fabric.Rate == 0 {
		s.Event.Phase = 0
	}
	if err := s.Event.settle(s.Fabric); err != nil {
		return fmt.Errorf("--rate %s: %w", s.Fabric.Rate, err)
	}
	return nil
}

func (s *Scenario) suitsFabric() error {
	if err := s.Fabric.suitsWorkers(); err != nil {
		return fmt.Errorf("fabric.workers: %w", err)
	}
	if err := s.Fabric.suitsLossless(); err != nil {
		return fmt.Errorf("fabric.lossless: %w", err)
	}
	if err := s.Fabric.suitsAny(); s.Network != nil && err != nil {
		return fmt.Errorf("%w%s", err, s.because)
	}
	return s.each(func(c *Case) error { return c.suitsFabric(s) })
}

// changedKind applies the effects of a new kind of the fabric; was is the old kind.
func (s *Scenario) changedKind(was string) {
	switch kind := s.Fabric.Kind; {
	case kind == Hosts && was != Hosts:
		s.Fabric.Rate, s.Fabric.AutoRate = 0, false
	case kind != Hosts && s.Fabric.Rate == 0:
		s.Fabric.auto(s.Tree.Shape)
	}
	if s.Fabric.Kind != was { // what is said of real hosts means nothing here
		s.Transport, s.Launch, s.Inject = transport.TCP, localLaunch, Inject{}
		s.Fabric.Routes = Routes{}
	}
}

func (s *Scenario) overrideCase(o Overrides) error {
	only := o["case"]
	if only == "" {
		return nil
	}
	i := slices.IndexFunc(s.Cases, func(c Case) bool { return c.Name == only })
	if i < 0 {
		return fmt.Errorf("--case: %w", s.noCase(only))
	}
	s.Cases = s.Cases[i : i+1 : i+1]
	s.Answer = slices.DeleteFunc(s.Answer, func(name string) bool { return name != only })
	return nil
}

func (s *Scenario) noCase(name string) error {
	return fmt.Errorf("no case %q; there are %s", name, strings.ReplaceAll(strings.Trim(fmt.Sprintf("%q", s.CaseNames()), "[]"), `" "`, `", "`))
}

func (s *Scenario) overrideTimes(o Overrides) error {
	if err := s.overrideRounds(o); err != nil {
		return err
	}
	if err := s.overrideDuration(o); err != nil {
		return err
	}
	name, least := s.shortest()
	every := o["interval"]
	if every == "" {
		s.Interval = min(s.Interval, least)
		return nil
	}
	if err := lasts(&s.Interval, minInterval, least).set(every); err != nil {
		return fmt.Errorf("--interval %w, which is how long %s lasts", err, name)
	}
	return nil
}

func (s *Scenario) overrideDuration(o Overrides) error {
	if o["duration"] == "" {
		return nil
	}
	d := s.Duration
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Duration = d
		if j, err := c.checkTimed(without(s.Tree, c.Failures)); err != nil {
			return fmt.Errorf("--duration %s: case %q: failure of %s: %w", short(d), c.Name, c.Timed[j].Name, err)
		}
	}
	return nil
}
