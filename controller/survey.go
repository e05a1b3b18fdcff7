package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/controller/wire"
	"evbench/results"
)

// answerTime bounds a round. A worker needs a few seconds for a peer that does not answer at all.
const answerTime = 30 * time.Second

// Hosts returns the machines of the joined servers, by position.
func (c *Controller) Hosts() []results.Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []results.Host
	for server, m := range c.members {
		h := m.hello.Host
		h.Server, h.Addresses = server, []string{}
		if m.hello.Data != "" {
			h.Addresses = strings.Split(m.hello.Data, ",")
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b results.Host) int { return a.Server - b.Server })
	return out
}

// Survey has every pair of joined servers probe each other, in rounds in which a server has only
// one partner, so that measurements do not disturb each other. For pairs of positions selected by
// routers, it also asks for the router half way. It begins no round after limit has passed. The
// error names a server that has left or does not answer.
func (c *Controller) Survey(ctx context.Context, limit time.Duration, routers func(from, to int) bool) ([][][]wire.Reach, error) {
	peers, s, run, err := c.openAll()
	if err != nil {
		return nil, err
	}
	defer c.end(s)
	round := surveying{stage: s, run: run, peers: peers, reached: make([][][]wire.Reach, len(peers))}
	for i := range peers {
		round.reached[i] = make([][]wire.Reach, len(peers))
	}
	began := time.Now()
	for _, partner := range pairings(len(peers)) {
		if time.Since(began) >= limit {
			break
		}
		for rank, other := range partner {
			if other >= 0 {
				from, to := peers[rank], peers[other]
				s.members[rank].post(wire.Probe{Run: run, Peer: to.Server, Data: to.Addrs[0], Routers: routers(from.Server, to.Server)})
			}
		}
		if err := round.answers(ctx, partner); err != nil {
			return nil, fmt.Errorf("reach of every pair: %w", err)
		}
	}
	return round.reached, nil
}

// openAll opens a case of all joined servers in which nothing is exchanged: they are asked questions.
func (c *Controller) openAll() (peers []wire.Peer, s *stage, run uint32, err error) {
	if peers, err = c.peers(); err == nil {
		s, run, err = c.open(Case{Case: wire.Case{Peers: peers}}, nil)
	}
	return peers, s, run, err
}

// surveying is the results so far.
type surveying struct {
	*stage
	run     uint32
	peers   []wire.Peer
	reached [][][]wire.Reach
}

// answers waits for every rank's answer about its partner, and keeps it.
func (s *surveying) answers(ctx context.Context, partner []int) error {
	waiting := map[int]bool{}
	for rank, other := range partner {
		if other >= 0 {
			waiting[rank] = true
		}
	}
	return s.wait(ctx, s.peers, waiting, answerTime, func(rank int, msg any) {
		m, ok := msg.(wire.Probed)
		if other := partner[rank]; ok && m.Run == s.run && other >= 0 && m.Peer == s.peers[other].Server {
			s.reached[rank][other] = m.Reached
			delete(waiting, rank)
		}
	})
}

// Trace has each joined server, in the order of positions, follow its trails, gap apart, all at the same time, a case under
// way or not. The result has the order of trails; that of a server that cannot is empty.
func (c *Controller) Trace(ctx context.Context, trails [][]wire.Trail, gap time.Duration) ([][]wire.Seen, error) {
	c.tracing.Lock()
	defer c.tracing.Unlock()
	peers, err := c.peers()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	s, missing := c.among(peers)
	if missing == nil {
		c.asked, c.run = s, c.run+1
	}
	run := c.run
	c.mu.Unlock()
	if missing != nil {
		return nil, notConnected(missing)
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(s.over)
		c.asked = nil
	}()
	waiting, longest := map[int]bool{}, 0
	for rank, all := range trails {
		if len(all) > 0 {
			waiting[rank] = true
			s.members[rank].post(wire.Trace{Run: run, Trails: all, Gap: gap})
		}
		questions := 0
		for _, t := range all {
			questions += t.Last - t.First + 1
		}
		longest = max(longest, questions)
	}
	seen := make([][]wire.Seen, len(peers))
	err = s.wait(ctx, peers, waiting, answerTime+time.Duration(longest)*gap, func(rank int, msg any) {
		if m, ok := msg.(wire.Traced); ok && m.Run == run && waiting[rank] {
			seen[rank] = m.Seen
			delete(waiting, rank)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("paths by ports: %w", err)
	}
	return seen, nil
}

// wait takes the messages of members until none is waited for any more.
func (s *stage) wait(ctx context.Context, peers []wire.Peer, waiting map[int]bool, limit time.Duration, take func(rank int, msg any)) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	for len(waiting) > 0 {
		select {
		case a := <-s.inbox:
			if m, gone := a.msg.(lost); gone {
				return fmt.Errorf("server %d has left: %w", peers[a.rank].Server, m.err)
			}
			take(a.rank, a.msg)
		case <-late.C:
			return errors.New("no answer from " + names(positionsOf(peers, waiting)))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func positionsOf(peers []wire.Peer, ranks map[int]bool) []int {
	var out []int
	for rank, p := range peers {
		if ranks[rank] {
			out = append(out, p.Server)
		}
	}
	return out
}

// pairings returns the rounds of a tournament of n, by the circle method. A round gives each rank's
// partner, or -1. Over all rounds each pair meets once.
func pairings(n int) [][]int {
	even := n + n%2 // with an odd n, one rank rests in each round
	var rounds [][]int
	for r := range even - 1 {
		partner := make([]int, even)
		for k := range even / 2 {
			a, b := (r+k)%(even-1), (r-k+even-1)%(even-1)
			if k == 0 {
				b = even - 1 // the last rank stays, the others rotate
			}
			partner[a], partner[b] = b, a
		}
		for i, p := range partner {
			if p >= n {
				partner[i] = -1
			}
		}
		rounds = append(rounds, partner[:n])
	}
	return rounds
}
