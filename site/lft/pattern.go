package lft

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A Pattern is a list of phases. In a phase a host sends to at most one other.
type Pattern struct {
	Name   string
	Phases int
	// Fill writes the destination of each host in a phase, or -1. Several goroutines call it, with
	// phases in any order.
	Fill func(phase int, dst []int32)
}

// Shifts is the linear shift: in phase k host i sends to host i+k modulo their
// number; phase 0 sends nothing.
func Shifts(hosts int) Pattern {
	return Pattern{"linear shift", hosts, func(phase int, dst []int32) { shift(dst, phase) }}
}

// SomeShifts is count different phases of the linear shift, drawn by the seed
// from those that send something; all phases if there are no more than count.
func SomeShifts(hosts, count int, seed uint64) Pattern {
	if count >= hosts {
		return Shifts(hosts)
	}
	drawn := rand.New(rand.NewPCG(seed, 1)).Perm(hosts - 1)[:count]
	slices.Sort(drawn)
	name := fmt.Sprintf("%d phases of the linear shift", count)
	return Pattern{name, count, func(phase int, dst []int32) { shift(dst, drawn[phase]+1) }}
}

func shift(dst []int32, by int) {
	for i := range dst {
		dst[i] = int32((i + by) % len(dst))
		if by == 0 {
			dst[i] = -1
		}
	}
}

// Permutations is count random permutations of all hosts. Hosts that map to themselves send
// nothing.
func Permutations(count int, seed uint64) Pattern {
	return Pattern{"random permutations", count, func(phase int, dst []int32) {
		for i := range dst {
			dst[i] = int32(i)
		}
		rng := rand.New(rand.NewPCG(seed, uint64(phase)))
		rng.Shuffle(len(dst), func(i, j int) { dst[i], dst[j] = dst[j], dst[i] })
		for i := range dst {
			if int(dst[i]) == i {
				dst[i] = -1
			}
		}
	}}
}

// Bisections is count random halvings of the hosts, in each of which every host
// of one half sends to one of the other: the pattern of effective bisection
// bandwidth (Hoefler, Schneider and Lumsdaine, "Multistage switches are not
// crossbars", 2008, and their tool Netgauge). Of an odd number one host rests.
func Bisections(count int, seed uint64) Pattern {
	return Pattern{"random bisections", count, func(phase int, dst []int32) {
		perm := rand.New(rand.NewPCG(seed, uint64(phase))).Perm(len(dst))
		for i := range dst {
			dst[i] = -1
		}
		half := len(dst) / 2
		for k, src := range perm[:half] {
			dst[src] = int32(perm[half+k])
		}
	}}
}
