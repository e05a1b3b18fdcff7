package scenario

import (
	"errors"
	"fmt"
	"time"

	"evbench/internal/unit"
	"evbench/topology"
)

var errAutoHosts = errors.New("evbench sets no link rate on hosts: auto is for lab and emulate")

var errAutoPhase = errors.New("evbench does not measure what barriers take on hosts: auto is for lab and emulate")

// DefaultRate returns the link rate of a lab or an emulation without one. It keeps the sum over all
// servers at the rate that two shared cores forward without becoming the bottleneck: 100 Mbit/s up
// to 32 servers, 25 Mbit/s up to 64, then 1.6 Gbit/s shared equally.
func DefaultRate(servers int) unit.Rate {
	switch {
	case servers <= 32:
		return 100_000_000
	case servers <= 64:
		return 25_000_000
	}
	return unit.Rate(max(1, 1600/servers)) * 1_000_000
}

// auto sets the default rate until a search finds one.
func (f *Fabric) auto(t *topology.Shape) {
	f.Rate, f.AutoRate = DefaultRate(t.Servers()), true
}

// RateText is the link rate in words. A rate that is not yet found is called auto, with the
// preliminary rate.
func (f Fabric) RateText() string {
	if f.AutoRate {
		return fmt.Sprintf("%s (%s)", Auto, f.Rate)
	}
	return f.Rate.String()
}

// SettleRate sets the rate that the search found. A fragment given as a phase follows it. After an
// error do not use s.
func (s *Scenario) SettleRate(r unit.Rate) error {
	if err := checkRate(r); err != nil {
		return err
	}
	s.Fabric.Rate, s.Fabric.AutoRate = r, false
	return s.Event.settle(s.Fabric)
}

// SettlePhase sets the phase that suits the machine. After an error do not use s.
func (s *Scenario) SettlePhase(phase time.Duration) error {
	s.Event.Phase, s.Event.AutoPhase = phase, false
	return s.Event.settle(s.Fabric)
}

// rate sets the link rate, and reports whether it is settled, as fabric does. A missing rate that
// evbench sets is left to a search.
func (d *document) rate(at field, s *Scenario) bool {
	f := &s.Fabric
	switch hosts := f.Kind == Hosts; {
	case f.AutoRate && hosts:
		d.Fail(at, "%v", errAutoHosts)
		return false
	case at.Given() && !f.AutoRate:
		return true
	case s.Tree == nil:
		return false
	case !hosts:
		f.auto(s.Tree.Shape)
	}
	return true
}

func checkRate(r unit.Rate) error {
	if r <= 0 {
		return fmt.Errorf("rate %s: must be more than 0", r)
	}
	return nil
}
