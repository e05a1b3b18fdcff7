// Package spraying answers: on a lossless network, where is it enough to send each packet
// over any path, and where does a plan win?
//
// It works out the same event building on the same network of packets with credits (package
// sim/credit), planned and unplanned, with paths from tables, from hashes and decided for
// each packet, healthy and with dead links, with small and large buffers, with one lane and
// several. Everything random comes from the seed. It opens nothing and reads no clock.
package spraying

import (
	"errors"
	"fmt"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/routing/twolevel"
	"evbench/scheduler"
	"evbench/sim"
	"evbench/topology"
)

// A Way is how events are built, and how packets find their paths.
type Way struct {
	Name     string // "shift in step, tables"
	Mode     string // of package results
	Schedule string // "" for none
	Routing  string // "" has the tables: ftree on whole trees, minhop on others
}

// Ways returns those that are compared, planned ones first.
func Ways() []Way {
	shift, fors := scheduler.NameLinearShift, scheduler.NameFORS
	return []Way{
		{"shift in step, tables", results.Sync, shift, ""},
		{"shift in step, spray", results.Sync, shift, twolevel.Spray},
		{"FORS in step", results.Sync, fors, twolevel.Pinned},
		{"shift, no barrier, tables", results.FreeRunning, shift, ""},
		{"shift, no barrier, spray", results.FreeRunning, shift, twolevel.Spray},
		{"shift, no barrier, adaptive", results.FreeRunning, shift, twolevel.Adaptive},
		{"no plan, tables", results.Unsync, "", ""},
		{"no plan, ECMP", results.Unsync, "", twolevel.ECMP},
		{"no plan, spray", results.Unsync, "", twolevel.Spray},
		{"no plan, adaptive", results.Unsync, "", twolevel.Adaptive},
	}
}

// Options say what to work out.
type Options struct {
	Tree  *topology.Tree // without dead links
	Dead  []int          // numbers of dead links
	Draws int            // of dead links for each number but 0
	// Buffers are in packets of an input port and lane. Those of Network do not count, nor
	// do its lanes.
	Buffers, Lanes []int
	Network        sim.Lossless
	BitPerSec      float64       // of a link, for packets
	Fragment       int           // bytes, that each server sends to each other for one event
	Barrier        string        // of package barrier, for synchronised ways
	Round          time.Duration // of the barrier: one message and its handling
	// Jitter is how much later at most a server begins to send to the next, or to ask for
	// the next event; without it all of them run in step by themselves.
	Jitter time.Duration
	// Exchanges is how long a case lasts, in times that an exchange takes on links that
	// are always busy. The last two thirds are counted.
	Exchanges float64
	Ways      []Way
	Seed      uint64
	Workers   int // cases at a time; 0 means all processors
	// Progress, when set, is told what is being worked out.
	Progress func(work string)
}

// A Figure is what one way comes to with so many dead links, over all draws.
type Figure struct {
	Dead, Buffer, Lanes int
	Way                 Way
	Runs                int // draws of dead links; 1 without
	// Share is what part of its link a server received on average; Least and Most are those
	// of the servers that received least and most.
	Share, Least, Most results.Stat
	// Phases is Share while no barrier is under way; of synchronised ways only.
	Phases results.Stat
	Early  results.Stat // share of bytes that came before some sent earlier from the same server
	Held   results.Stat // bytes that one server kept at most until those came
	// Half and Late are within how many seconds half and 99 % of the events were built, each
	// from its first request, or from when its exchange was opened.
	Half, Late results.Stat
}

// check says what is wrong with options.
func (o *Options) check() error {
	switch {
	case o.Tree == nil || o.Tree.Servers() < 2:
		return errors.New("a tree of at least two servers is needed")
	case len(o.Tree.Dead()) > 0:
		return errors.New("the tree has dead links already")
	case len(o.Dead) == 0 || len(o.Buffers) == 0 || len(o.Lanes) == 0 || len(o.Ways) == 0:
		return errors.New("numbers of dead links, buffers, lanes and ways: at least one each")
	case o.Draws < 1:
		return fmt.Errorf("draws: %d; there must be at least one", o.Draws)
	case o.Fragment < 1:
		return fmt.Errorf("fragment: %d bytes; it must have at least one", o.Fragment)
	case o.Exchanges <= 0:
		return fmt.Errorf("exchanges: %g; a case must last", o.Exchanges)
	case o.BitPerSec <= 0:
		return errors.New("rate: links carry nothing")
	case o.Round < 0 || o.Jitter < 0:
		return errors.New("round and jitter cannot be negative")
	}
	for _, n := range o.Buffers {
		if n < 1 {
			return fmt.Errorf("buffer: %d packets; it must hold at least one", n)
		}
	}
	return nil
}

// network is that of one set of rows.
func (o *Options) network(buffer, lanes int) sim.Lossless {
	x := o.Network
	x.Buffer, x.Lanes = buffer*x.Packet, lanes
	return x
}

// duration of a case, virtual.
func (o *Options) duration() time.Duration {
	exchange := float64(o.Tree.Servers()-1) * float64(o.Fragment) * 8 / o.BitPerSec
	return time.Duration(o.Exchanges * exchange * float64(time.Second))
}

// planFor plans a way for a tree and its dead links.
func (w Way) planFor(t *topology.Tree, seed uint64) (*plan.Plan, error) {
	r := w.Routing
	if r == "" {
		r = twolevel.Ftree
		if len(t.Dead()) > 0 {
			r = twolevel.MinHop
		}
	}
	return plan.Build(t, plan.Options{Schedule: w.Schedule, Routing: r, Seed: seed})
}
