package papers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"evbench/study/failures"
	"evbench/topology/network"
)

// cablesOfLHCb returns the cables of the whole tree, called leaf0-spine3.
func cablesOfLHCb() (*failures.Cables, error) {
	n, err := lhcbNetwork()
	if err != nil {
		return nil, err
	}
	return failures.FromNetwork(n), nil
}

func lhcbNetwork() (*network.Network, error) {
	o := lhcb()
	return network.PGFT{M: []int{o.Ports, o.Leaves}, W: []int{1, o.Ports}, P: []int{1, 1}}.Build(0)
}

// Cables returns the cables of FT(2;20,18) by the names and GUIDs that evbench
// gives its switches: what a log is read with unless it comes with a map of its own.
func Cables() (*failures.Cables, error) { return cablesOfLHCb() }

// invented returns two months of failures that nobody has seen: twenty isolated ones
// of five seconds to six hours, and two cables that flap on a dozen and on five days.
// Its numbers were chosen to be round, not to be like those of the thesis.
func invented(seed uint64) (*failures.History, error) {
	n, err := lhcbNetwork()
	if err != nil {
		return nil, err
	}
	w := &inventor{rng: rand.New(rand.NewPCG(seed, 41)), net: n, start: time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)}
	w.text.WriteString("timestamp,switch,port,state\n")
	leaves := lhcb().Leaves
	for range 20 {
		w.down(w.rng.IntN(leaves), w.rng.IntN(20), time.Duration(w.rng.Int64N(int64(60*24*time.Hour))), w.between(5, 6*3600))
	}
	for _, periods := range []int{12, 5} {
		leaf, spine := w.rng.IntN(leaves), w.rng.IntN(20)
		for _, day := range w.rng.Perm(60)[:periods] {
			w.flap(leaf, spine, time.Duration(day)*24*time.Hour+w.between(60, 12*3600))
		}
	}
	log, err := failures.Read(strings.NewReader(w.text.String()), "invented")
	if err != nil {
		return nil, err
	}
	cables, err := cablesOfLHCb()
	if err != nil {
		return nil, err
	}
	return failures.Join([]*failures.Log{log}, failures.Options{Cables: cables})
}

// An inventor writes a log.
type inventor struct {
	rng   *rand.Rand
	net   *network.Network
	start time.Time
	text  strings.Builder
}

// between draws a duration whose logarithm is uniform, in whole seconds.
func (w *inventor) between(least, most float64) time.Duration {
	return time.Duration(least*math.Pow(most/least, w.rng.Float64())) * time.Second
}

// down writes what the leaf's port says of a failure.
func (w *inventor) down(leaf, spine int, at, long time.Duration) {
	guid, port := w.net.Info(w.net.Switch(leaf)).GUID, lhcb().Ports+1+spine
	for i, state := range []string{"DOWN", "ACTIVE"} {
		t := w.start.Add(at + time.Duration(i)*long).Truncate(time.Second)
		fmt.Fprintf(&w.text, "%s,0x%016x,%d,%s\n", t.Format(time.RFC3339), guid, port, state)
	}
}

// flap writes ten to fifty failures of 2 to 40 s, up to a quarter of an hour apart.
func (w *inventor) flap(leaf, spine int, at time.Duration) {
	for range 10 + w.rng.IntN(41) {
		long := w.between(2, 40)
		w.down(leaf, spine, at, long)
		at += long + w.between(10, 15*60)
	}
}
