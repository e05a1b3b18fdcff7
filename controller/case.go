package controller

import (
	"errors"
	"fmt"
	"time"

	"evbench/controller/wire"
	"evbench/results"
)

// A Case is one measurement: what every worker is told, and what the controller alone
// needs to know.
//
// Peers may be nil: all joined servers by position, at the address that each gave. Credits
// 0 means 1, Deliver "" wire.DeliverBuffer, Check "" wire.CheckHeader, Interval 0 one
// second, Timeout 0 ten seconds. Half of Timeout must be longer than a phase takes; see
// Allow for links that are down.
type Case struct {
	wire.Case

	// Rows are the steps of each rank. Unsynchronised cases take only the
	// spines from them, and need none when tables choose the path. Ordered cases have Windows
	// instead, of at most Credits exchanges each.
	Rows    [][]wire.Step
	Windows Windows
	// Standby are, by rank, paths that the workers open beforehand beside those of their
	// rows. A change to a plan that needs no others takes milliseconds. nil is allowed.
	Standby [][]wire.Path

	// Balanced has events of an unsynchronised case assigned by their sizes, of which
	// assign.Ahead of each server are known at a time.
	Balanced bool

	// Duration is how long the counted part goes on; it ends with a whole
	// exchange.
	Duration time.Duration
	// Exchanges, if not 0, is how many exchanges (events of each server) are
	// counted, instead of Duration.
	Exchanges uint64
	// Expected is about how long an exchange takes, so that no more of long ones are granted
	// than Duration asks for. 0: not known.
	Expected time.Duration

	// OnMeasure is called between warm-up and measurement, when no worker
	// sends. The measurement waits for it. nil is allowed.
	OnMeasure func()
	// OnSample is called for every sample, one at a time, beside the case: it may take
	// long. nil is allowed.
	OnSample func(results.Sample)
}

func (c Case) withDefaults() Case {
	if c.Deliver == "" {
		c.Deliver = wire.DeliverBuffer
	}
	if c.Check == "" {
		c.Check = wire.CheckHeader
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Interval == 0 {
		c.Interval = time.Second
	}
	c.Credits = max(c.Credits, 1)
	return c
}

// validate checks what the controller relies on; the workers check the rest.
func (c Case) validate() error {
	switch {
	case c.Mode != wire.Sync && c.Mode != wire.Unsync && c.Mode != wire.FreeRunning && c.Mode != wire.Ordered:
		return fmt.Errorf("mode %q: must be %s, %s, %s or %s", c.Mode, wire.Sync, wire.Unsync, wire.FreeRunning, wire.Ordered)
	case len(c.Peers) < 2:
		return errors.New("peers: an exchange needs two servers at least")
	case c.Mode == wire.Ordered && c.Windows == nil:
		return fmt.Errorf("windows: nobody plans them, and the case is %s", c.Mode)
	case c.Mode == wire.Ordered && len(c.Rows) > 0:
		return fmt.Errorf("rows: %d, and the case is %s", len(c.Rows), c.Mode)
	case len(c.Rows) != len(c.Peers) && c.Mode != wire.Ordered && (c.Mode != wire.Unsync || len(c.Rows) != 0):
		return fmt.Errorf("rows: %d for %d servers", len(c.Rows), len(c.Peers))
	case c.Standby != nil && len(c.Standby) != len(c.Peers):
		return fmt.Errorf("standby: paths of %d servers, %d take part", len(c.Standby), len(c.Peers))
	case c.AsyncCredits < 0 || c.AsyncCredits > 0 && c.Mode != wire.Sync:
		return fmt.Errorf("async credits: %d, for %s cases only", c.AsyncCredits, wire.Sync)
	case c.Duration <= 0 && c.Exchanges == 0:
		return errors.New("duration: must be above 0")
	case c.Timeout < 0 || c.Interval < 0:
		return errors.New("timeout and interval: must be above 0")
	}
	return nil
}

// patience is how long a worker may be silent; the rest of the time-out is for
// finding out who is to blame.
func (c Case) patience() time.Duration { return c.Timeout * 3 / 4 }

// standstill is how long nobody may get on: workers have said so long before, where they can.
// They are asked once in pingEvery.
func (c Case) standstill() time.Duration { return max(c.Timeout, 4*pingEvery) }

// openTime is how long workers that open their connections may not get on, all of them.
func (c Case) openTime() time.Duration {
	most := 0
	for _, paths := range c.Standby {
		most = max(most, len(paths))
	}
	return wire.OpenTime(c.patience(), len(c.Peers), most)
}

// inFlight is how many events a server has in flight in a part without schedule.
func (c Case) inFlight() uint64 {
	if c.Mode == wire.Sync {
		return uint64(c.AsyncCredits)
	}
	return uint64(c.Credits)
}

func (c Case) configure(run uint32, rank int) wire.Configure {
	cfg := wire.Configure{Run: run, Rank: rank, Case: c.Case}
	cfg.Timeout = c.Timeout / 2
	if c.Standby != nil {
		cfg.Standby = c.Standby[rank]
	}
	if len(c.Rows) > 0 {
		cfg.Row = c.Rows[rank]
	}
	return cfg
}
