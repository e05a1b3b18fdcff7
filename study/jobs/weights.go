package jobs

import (
	"errors"
	"fmt"

	"evbench/routing/lft"
	"evbench/topology/network"
)

// Weights says how much each host receives: as many messages as it has other hosts in its jobs.
// Jobs on one switch put nothing on cables between switches, and count nothing.
func Weights(n *network.Network, list []Job) (*lft.Weights, error) {
	var r Routed
	of := make([]float64, n.Hosts())
	for _, job := range r.Place(n, list, new(Classes)).Jobs {
		for _, h := range job {
			of[h] += float64(len(job) - 1)
		}
	}
	if len(r.Unknown) > 0 {
		return nil, fmt.Errorf("%s is not in the network", r.Unknown[0])
	}
	w, err := lft.NewWeights(of)
	if err != nil {
		return nil, errors.New("no job is on hosts of several switches")
	}
	return w, nil
}
