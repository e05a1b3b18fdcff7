// Package verbs opens InfiniBand verbs as the transport of workers.
package verbs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"evbench/barrier"
	"evbench/builder/modes"
	"evbench/cmd/open"
	"evbench/controller/wire"
	"evbench/site/rdma"
	"evbench/worker"
)

// Transport opens the endpoints of transport.RDMA.
func Transport() open.Transport { return open.Transport{Missing: rdma.Missing, Listen: listen} }

func listen(p open.Process) (open.Port, error) {
	var own []string
	for _, a := range p.Data {
		ip, _, err := net.SplitHostPort(a)
		if err != nil {
			return open.Port{}, err
		}
		own = append(own, ip)
	}
	l, err := rdma.Listen(rdma.Options{Addr: p.Data.Listen(), Data: own, Token: p.Token, Log: p.Refused})
	if err != nil {
		return open.Port{}, fmt.Errorf("transport rdma: %w", err)
	}
	data, err := p.Data.At(l.Addr())
	if err != nil {
		return open.Port{}, errors.Join(err, l.Close())
	}
	connect := func(ctx context.Context, c wire.Configure, moved func()) (worker.Connections, error) {
		g := rdma.Group{ID: c.Run, Rank: c.Rank, Need: open.Needs(c), Ports: c.Ports, Departed: c.Mode == modes.Ordered, Moved: moved}
		if c.Mode == modes.Sync {
			if g.Partners, err = barrier.Partners(c.Barrier, c.Rank, len(c.Peers)); err != nil {
				return worker.Connections{}, err
			}
		}
		if g.Peers, err = peers(c); err != nil {
			return worker.Connections{}, err
		}
		ep, err := l.Connect(ctx, g)
		if err != nil {
			return worker.Connections{}, err
		}
		return open.Connections(ep), nil
	}
	return open.Port{Data: data, More: " " + l.Port().String(), Open: connect, Close: l.Close}, nil
}

// peers reads the port data of the other workers.
func peers(c wire.Configure) (all []rdma.Peer, err error) {
	for _, p := range c.Peers {
		at := ""
		if len(p.Addrs) > 0 {
			at = p.Addrs[0]
		}
		addrs, port, _ := strings.Cut(at, " ")
		setup, _, _ := strings.Cut(addrs, ",")
		x := rdma.Peer{Setup: setup}
		if x.Port, err = rdma.ParsePort(port); err != nil {
			return nil, fmt.Errorf("server%d: %w", p.Server, err)
		}
		all = append(all, x)
	}
	return all, nil
}
