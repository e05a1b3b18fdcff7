package controller

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
)

// A Case is one measurement: the settings for every worker, and those for the controller alone.
//
// Peers may be nil: all joined servers by position, at the addresses they gave. Credits 0 means 1,
// Deliver "" builder.DeliverBuffer, Check "" builder.CheckHeader, Interval 0 one second, Timeout 0 ten
// seconds. Workers count bytes as progress where their transport can; where it cannot, Timeout must be
// longer than a phase takes. See Allow for links that are down.
type Case struct {
	wire.Case

	// Rows are the steps of each rank. Unsynchronised cases use only their spines, and need no Rows
	// if routing tables choose the path. Ordered cases have Windows instead, of at most Credits
	// exchanges each.
	Rows    [][]wire.Step
	Windows Windows
	// Standby are, by rank, further paths that the workers open beforehand. A change to a plan that
	// needs no other paths takes milliseconds. nil is allowed.
	Standby [][]wire.Path

	// Exchanges, if not 0, is how many exchanges (events of each server) are counted, instead of
	// Duration.
	Exchanges uint64
	// Expected is an estimate of the time of an exchange, so that no more long exchanges are
	// granted than Duration asks for. 0: not known.
	Expected time.Duration

	// OnMeasure is called between warm-up and measurement, when no worker sends. The measurement
	// waits for it. nil is allowed.
	OnMeasure func()
	// OnSample is called for every sample, one at a time, in a goroutine of its own: it may take
	// long. nil is allowed.
	OnSample func(results.Sample)
}

func (c Case) withDefaults() Case {
	c.Deliver = cmp.Or(c.Deliver, builder.DeliverBuffer)
	c.Check = cmp.Or(c.Check, builder.CheckHeader)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.Credits = max(c.Credits, 1)
	return c
}

// validate checks the fields that the controller relies on; the workers check the rest.
func (c Case) validate() error {
	switch {
	case !c.Mode.Known():
		return fmt.Errorf("mode %q: must be %s, %s, %s or %s", c.Mode, modes.Sync, modes.Unsync, modes.FreeRunning, modes.Ordered)
	case len(c.Peers) < 2:
		return errors.New("peers: an exchange needs two servers at least")
	case c.Mode == modes.Ordered && c.Windows == nil:
		return fmt.Errorf("windows: they have no planner, and the case is %s", c.Mode)
	case c.Mode == modes.Ordered && len(c.Rows) > 0:
		return fmt.Errorf("rows: %d, and the case is %s", len(c.Rows), c.Mode)
	case len(c.Rows) != len(c.Peers) && c.Mode != modes.Ordered && (c.Mode != modes.Unsync || len(c.Rows) != 0):
		return fmt.Errorf("rows: %d for %d servers", len(c.Rows), len(c.Peers))
	case c.Standby != nil && len(c.Standby) != len(c.Peers):
		return fmt.Errorf("standby: paths of %d servers, %d take part", len(c.Standby), len(c.Peers))
	case c.AsyncCredits < 0 || c.AsyncCredits > 0 && c.Mode != modes.Sync:
		return fmt.Errorf("async credits: %d, for %s cases only", c.AsyncCredits, modes.Sync)
	case c.Duration <= 0 && c.Exchanges == 0:
		return errors.New("duration: must be above 0")
	case c.Timeout < 0 || c.Interval < 0:
		return errors.New("timeout and interval: must be above 0")
	}
	return nil
}

// standstill is how long all servers together may make no progress: workers that can detect it
// report it before, after Timeout. The controller asks them once in pingEvery.
func (c Case) standstill() time.Duration { return max(c.Timeout*3/2, 4*pingEvery) }

// openTime is how long all workers together may make no progress in opening connections, which each
// reports before.
func (c Case) openTime() time.Duration {
	most := 0
	for _, paths := range c.Standby {
		most = max(most, len(paths))
	}
	return wire.OpenTime(c.standstill(), len(c.Peers), most)
}

// inFlight is how many events a server has in flight in a part without schedule.
func (c Case) inFlight() uint64 {
	if c.Mode == modes.Sync {
		return uint64(c.AsyncCredits)
	}
	return uint64(c.Credits)
}

func (c Case) configure(run uint32, rank int) wire.Configure {
	cfg := wire.Configure{Run: run, Rank: rank, Case: c.Case}
	if c.Standby != nil {
		cfg.Standby = c.Standby[rank]
	}
	if len(c.Rows) > 0 {
		cfg.Row = c.Rows[rank]
	}
	return cfg
}
