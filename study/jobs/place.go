package jobs

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
)

// ParseSizes reads sizes of jobs: "3x60,20" is three of 60 nodes and one of 20.
func ParseSizes(s string) ([]int, error) {
	var sizes []int
	for item := range strings.SplitSeq(s, ",") {
		times, size, many := strings.Cut(item, "x")
		if !many {
			times, size = "1", item
		}
		t, err1 := strconv.Atoi(times)
		n, err2 := strconv.Atoi(size)
		if err1 != nil || err2 != nil || t < 1 || n < 1 || t > MaxNodes || n > MaxNodes || len(sizes)+t > MaxNodes {
			return nil, fmt.Errorf("%q: sizes of jobs are such as 3x60,20", short(s))
		}
		for range t {
			sizes = append(sizes, n)
		}
	}
	return sizes, nil
}

// Scatter puts jobs of those sizes on nodes 0..nodes-1, at random, no node in two
// jobs. The same seed and draw give the same placement.
func Scatter(sizes []int, nodes int, seed, draw uint64) ([][]int, error) {
	total := 0
	for _, s := range sizes {
		if total += s; s < 0 || total > nodes {
			return nil, fmt.Errorf("jobs of %v nodes do not fit on %d", sizes, nodes)
		}
	}
	order := rand.New(rand.NewPCG(seed, draw)).Perm(nodes)
	placed := make([][]int, len(sizes))
	for i, s := range sizes {
		placed[i], order = order[:s:s], order[s:]
	}
	return placed, nil
}

// ReadTopology reads the switches of nodes from Slurm's topology.conf, lines
// "SwitchName=leaf1 Nodes=node[1-18]". Lines of switches of switches, and other
// words, are left out.
func ReadTopology(r io.Reader) (map[string]string, error) {
	at := map[string]string{}
	return at, lines(r, func(line string) error {
		word := map[string]string{}
		for _, f := range strings.Fields(line) {
			key, value, _ := strings.Cut(f, "=")
			word[strings.ToLower(key)] = value
		}
		name, nodes := word["switchname"], word["nodes"]
		switch {
		case name == "":
			return fmt.Errorf("%q: no SwitchName=", short(line))
		case nodes == "":
			return nil
		}
		list, err := hostlist.Expand(nodes)
		if err != nil {
			return fmt.Errorf("switch %s: %w", short(name), err)
		}
		for _, n := range list {
			if other, ok := at[n]; ok && other != name {
				return fmt.Errorf("node %s is at switch %s and at switch %s", n, other, name)
			}
			at[n] = name
		}
		return nil
	})
}
