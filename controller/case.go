package controller

import (
	"errors"
	"fmt"
	"time"

	"evbench/internal/wire"
	"evbench/results"
)

// A Case is one measurement, as the workers need to know it.
type Case struct {
	Name   string
	Repeat int
	Epoch  uint32 // of the plan

	// Mode is wire.Sync, wire.Unsync or wire.FreeRunning.
	Mode string
	// Barrier is the kind of barrier of a synchronised case.
	Barrier string

	// Rows are the steps of each rank. Unsynchronised cases take only the
	// spines from them, and need none when tables choose the path.
	Rows [][]wire.Step
	// Peers say which server has which rank and where it is reached. nil means
	// all joined servers by position, at the address that each gave.
	Peers []wire.Peer

	Fragment int     // mean payload bytes of a fragment
	Spread   float64 // 0..0.9
	Seed     uint64

	// Sources is how many requests for one event are outstanding at most, in
	// the unsynchronised mode. 0 means all.
	Sources int
	// Credits is how many events a server has in flight, without barrier. 0
	// means 1.
	Credits int
	// AsyncCredits is the same for the parts of a synchronised case that an Update makes
	// unsynchronised. 0 means that it never does.
	AsyncCredits int

	// Standby are, by rank, paths that the workers open beforehand beside those of their
	// rows. A change to a plan that needs no others takes milliseconds. nil is allowed.
	Standby [][]wire.Path

	// Warmup is how many exchanges (unsynchronised: events of each server) are
	// done before anything counts.
	Warmup uint64
	// Duration is how long the counted part goes on; it ends with a whole
	// exchange.
	Duration time.Duration
	// Exchanges, if not 0, is how many exchanges (events of each server) are
	// counted, instead of Duration.
	Exchanges uint64

	// Deliver is wire.DeliverBuffer (the default) or wire.DeliverDiscard.
	Deliver string
	// Check is wire.CheckHeader (the default) or wire.CheckPayload.
	Check string
	// IO is how the workers' transport moves payload; "": as it likes.
	IO string

	// Timeout is how long nothing may happen before the case ends with an
	// error. Half of it must be longer than a phase takes; see Allow for links that
	// are down. 0 means 10s.
	Timeout time.Duration
	// Interval is the time between samples. 0 means 1s.
	Interval time.Duration

	// Pairs asks for what each server received of each other one, in Totals.Sources
	// of the outcome.
	Pairs bool

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
	case c.Mode != wire.Sync && c.Mode != wire.Unsync && c.Mode != wire.FreeRunning:
		return fmt.Errorf("mode %q: must be %s, %s or %s", c.Mode, wire.Sync, wire.Unsync, wire.FreeRunning)
	case len(c.Peers) < 2:
		return errors.New("peers: an exchange needs two servers at least")
	case len(c.Rows) != len(c.Peers) && (c.Mode != wire.Unsync || len(c.Rows) != 0):
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

// openTime is how long workers may take to open their connections.
func (c Case) openTime() time.Duration {
	most := 0
	for _, paths := range c.Standby {
		most = max(most, len(paths))
	}
	cfg := wire.Configure{Timeout: c.patience(), Standby: make([]wire.Path, most)}
	return cfg.OpenTime()
}

// inFlight is how many events a server has in flight in a part without schedule.
func (c Case) inFlight() uint64 {
	if c.Mode == wire.Sync {
		return uint64(c.AsyncCredits)
	}
	return uint64(c.Credits)
}

// configure is the first message of a case to one rank.
func (c Case) configure(run uint32, rank int) wire.Configure {
	cfg := wire.Configure{
		Run: run, Case: c.Name, Repeat: c.Repeat, Epoch: c.Epoch, Mode: c.Mode, Barrier: c.Barrier,
		Rank: rank, Peers: c.Peers, Fragment: c.Fragment, Spread: c.Spread, Seed: c.Seed,
		Sources: c.Sources, Credits: c.Credits, Warmup: c.Warmup, Deliver: c.Deliver, Check: c.Check, IO: c.IO,
		Timeout: c.Timeout / 2, Interval: c.Interval, Pairs: c.Pairs, AsyncCredits: c.AsyncCredits,
	}
	if c.Standby != nil {
		cfg.Standby = c.Standby[rank]
	}
	if len(c.Rows) > 0 {
		cfg.Row = c.Rows[rank]
	}
	return cfg
}
