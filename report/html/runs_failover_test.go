package html_test

import (
	"testing"

	"evbench/report/figure"
	"evbench/results"
	"evbench/topology"
)

// FailedOver is a run of six cases of 16 servers in which one link dies after 5 s and
// comes back after 11 s, each under another policy, and of one in which it flaps.
func FailedOver(t testing.TB) figure.Source {
	t.Helper()
	during := func(share float64) func(float64) float64 {
		return func(sec float64) float64 {
			if sec > 5 && sec <= 11 {
				return share
			}
			return 1
		}
	}
	one := func(name, schedule, routing string, share float64, records ...results.Failover) Case {
		return Case{
			Name: "link dies " + name, Schedule: schedule, Routing: routing, Policy: name, Failovers: records, Interval: 0.1, Share: during(share),
			Events: []results.LinkEvent{{Link: link, TSec: 5}, {Link: link, TSec: 11, Up: true}},
		}
	}
	flapping := Case{Name: "flapping", Schedule: "fors", Policy: "fors", Interval: 0.1, Share: func(sec float64) float64 { return 0.9 }}
	for i := range 14 {
		at := 1 + float64(i)
		flapping.Failovers = append(flapping.Failovers, Replanned(i+1, i%2 == 1, at, 30+float64(i)))
	}
	return Source(t, newTree(t, topology.Options{Ports: 4, Leaves: 4}), 160,
		one("none", "linear-shift", "ftree", 0, seen(1, false, 5), seen(2, true, 11)),
		one("minhop", "linear-shift", "minhop", 0.58, aided(1, false, 5), aided(2, true, 11)),
		one("spread", "linear-shift", "spread", 0.58, aided(1, false, 5), aided(2, true, 11)),
		one("unsync", "linear-shift", "spread", 0.88, Replanned(1, false, 5, 40), Replanned(2, true, 11, 350)),
		one("fors", "fors", "", 0.94, Replanned(1, false, 5, 320), overtaken(2, 9), Replanned(3, true, 11, 350)),
		one("fors+hold", "fors", "", 0.94, Replanned(1, false, 5, 330)),
		flapping,
	)
}

const link = "leaf0-spine0"

// seen is a fail-over in which nothing is done but to restore routes.
func seen(id int, up bool, at float64) results.Failover {
	f := results.Failover{ID: id, Down: []string{link}, Dead: []string{link}, FailoverTimes: results.FailoverTimes{SetSec: sec(at), SeenSec: sec(at + 3e-4)}}
	if up {
		f.Down, f.Up, f.Dead = nil, f.Down, []string{}
		f.CleanedSec = sec(at + 2e-3)
	}
	return f
}

func aided(id int, up bool, at float64) results.Failover {
	f := seen(id, up, at)
	f.AidedSec, f.Routes = sec(at+1.4e-3), 18
	f.BeforeEventsPerSec, f.AfterEventsPerSec = sec(53), sec(31)
	return f
}

// Replanned is a fail-over that went through, the first exchange on the new plan done
// after so many ms.
func Replanned(id int, up bool, at, ms float64) results.Failover {
	f := aided(id, up, at)
	after := func(ms float64) *float64 { return sec(at + ms/1e3) }
	f.PlannedSec, f.VerifiedSec, f.InstalledSec, f.UpdatedSec = after(3.1), after(3.6), after(8.2), after(12)
	f.LastOldSec, f.FirstNewSec, f.CleanedSec = after(ms/2), after(ms), after(ms+6)
	f.Source, f.Phases, f.Attempts, f.From = "computed", 16, 1, uint64(at*3)
	return f
}

func overtaken(id int, at float64) results.Failover {
	f := aided(id, false, at)
	f.Down, f.PlannedSec, f.Superseded = []string{"leaf1-spine1"}, sec(at+3e-3), true
	return f
}

func sec(x float64) *float64 { return &x }
