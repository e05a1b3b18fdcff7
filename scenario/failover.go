package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"evbench/builder/modes"
	"evbench/failover"
	"evbench/internal/lists"
	"evbench/routing"
	"evbench/scheduler/schedules"
)

// Policies of fail-over, as package failover has them.
const (
	policyNone     = string(failover.None)
	policyMinHop   = string(failover.MinHop)
	policySpread   = string(failover.Spread)
	policyUnsync   = string(failover.Unsync)
	policyFORS     = string(failover.FORS)
	policyFORSHold = string(failover.FORSHold)
	policyReorder  = string(failover.Reorder)
)

func policies() []string {
	return append(lists.Map(failover.Policies(), func(p failover.Policy) string { return string(p) }), policyReorder)
}

// A Failover is the reaction to links that die or come back during a case.
type Failover struct {
	Policy       string        // one of policies
	Hold         time.Duration // how long a returned link must stay up before it is used; 0 unless the policy holds
	Debounce     time.Duration // how long planning waits for more of the same failure
	OnDisconnect string        // End or Wait
}

// Reactions to dead links that leave servers without a path to each other.
const (
	End  = "end"
	Wait = "wait"
)

const defaultDebounce = time.Millisecond

// failoverField returns the field of the document with the fail-over of a case.
func (d *document) failoverField(e entry) field {
	if e.f.Given("failover") || !d.from.Given() {
		return e.at("failover")
	}
	return d.from
}

// failoverAt reads the name of a policy, or {policy, hold, debounce, on_disconnect}. Missing fields
// come from base, as far as the policy has them. A wrong fail-over, already reported, has no
// policy.
func (d *document) failoverAt(at field, base *Failover) *Failover {
	if !at.Given() && base == nil {
		return nil
	} else if !at.Given() {
		return new(*base)
	}
	f := &Failover{Debounce: defaultDebounce, OnDisconnect: End}
	if base != nil {
		f.Debounce, f.OnDisconnect = base.Debounce, base.OnDisconnect
	}
	m, good := d.section(at.InFull("policy"), failoverFields(f), "policy: needed; there are "+strings.Join(policies(), ", "), "hold: only with policy="+policyFORSHold)
	switch {
	case !good:
		f.Policy = ""
	case f.Policy == policyFORSHold && !m.Given("hold"):
		f.Hold = failover.DefaultHold
		if base != nil && base.Hold > 0 {
			f.Hold = base.Hold
		}
	}
	return f
}

// wrong reports whether the document has an error in the fail-over.
func (f *Failover) wrong() bool { return f != nil && f.Policy == "" }

// adopt fills in the settings that the policy of a case needs, and returns the first field that
// contradicts it. none says that the case shall have no schedule.
func (c *Case) adopt(none bool) (name string, err error) {
	if c.Failover == nil {
		return "", nil
	}
	p := c.Failover.Policy
	switch p {
	case policyMinHop, policySpread:
		if c.Mode == modes.Ordered {
			return "failover", fmt.Errorf("policy %s changes tables, and an ordered case has paths of its own; there are %s, %s and %s",
				p, policyNone, policyFORS, policyFORSHold)
		}
		c.Routing = cmp.Or(c.Routing, p)
		return "", nil
	case policyNone, policyReorder:
		return "", nil
	}
	if c.Mode == modes.Ordered && p != policyUnsync {
		return "", nil // to plans for the links that are alive
	}
	if c.Mode != modes.Sync {
		return "mode", fmt.Errorf("policy %s changes the plan of the phases between two exchanges, so the case must be %s; the mode is %s",
			p, modes.Sync, c.Mode)
	}
	if p == policyUnsync {
		return c.adoptUnsync()
	}
	return c.adoptFORS(none)
}

// adoptUnsync: phases over tables, until a link dies.
func (c *Case) adoptUnsync() (name string, err error) {
	if c.Routing == routing.Pinned {
		return "routing", errors.New("policy unsync changes to event building without phases, over tables; take spread, minhop or another routing of tables")
	}
	c.Routing = cmp.Or(c.Routing, routing.Spread)
	return "", nil
}

// adoptFORS: a plan with its paths.
func (c *Case) adoptFORS(none bool) (name string, err error) {
	p := c.Failover.Policy
	if c.Schedule == "" && !none {
		c.Schedule = schedules.FORS
	}
	switch {
	case none:
		return "schedule", fmt.Errorf("policy %s changes from one plan to another, so there must be one; leave schedule out for %s", p, schedules.FORS)
	case !c.choosesPaths():
		return "schedule", fmt.Errorf("policy %s changes to plans that bring their paths, which those of %s do not; leave schedule out for %s", p, c.Schedule, schedules.FORS)
	case c.Routing != "" && c.Routing != routing.Pinned:
		return "routing", fmt.Errorf("policy %s changes to plans that bring their paths, which routing %s does not take; leave it out", p, c.Routing)
	}
	c.Routing = routing.Pinned
	return "", nil
}

// mayFailOver reports why a fabric does not support the policy of a case.
func (c *Case) mayFailOver(s *Scenario) error {
	kind, routes := s.Fabric.Kind, s.Fabric.Routes.Kind
	switch {
	case c.Failover == nil, c.policy() == policyReorder: // see suitsNetwork
		return nil
	case kind == Hosts && routes == RoutesKernel && s.Inject.Kind == "":
		return errors.New("switches with Linux do not report their links; with inject a case may have failover, else leave it out")
	case kind == Hosts && routes != RoutesOpenSM && routes != RoutesKernel:
		return errors.New("evbench does not set the routes of plain hosts while events are built; have fabric.routes do it, or " +
			"leave failover out, and have evbench routes follow keep the routes of the network")
	case kind == Emulate && c.Routing == routing.Pinned:
		return errors.New("an emulated fabric cannot move pinned paths while events are built; " +
			"take fabric lab, or a case on tables with policy minhop, spread or unsync")
	}
	return nil
}

func (c *Case) suitsFabric(s *Scenario) error {
	if name, err := c.suitsNetwork(s); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := c.maySpray(&s.Fabric); err != nil {
		return err
	}
	if err := c.mayFailOver(s); err != nil {
		return err
	}
	if len(c.Timed) == 0 {
		return nil
	}
	return c.mayReroute(s)
}

func (c *Case) policy() string {
	if c.Failover == nil {
		return ""
	}
	return c.Failover.Policy
}
