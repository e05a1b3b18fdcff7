package preflight

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/controller/wire"
	"evbench/fabric"
	"evbench/results"
	"evbench/testing/expect"
)

// A network says on which leaf each server really is.
type network struct {
	at    []int
	reach func(from, to int) wire.Reach // of a pair on the same or another leaf
}

// byHops is a routed network: one router within a leaf, three between leaves.
func byHops(at ...int) network {
	return network{at, func(from, to int) wire.Reach {
		if at[from] == at[to] {
			return wire.Reach{Hops: 1, RTT: 20 * time.Microsecond}
		}
		return wire.Reach{Hops: 3, RTT: 21 * time.Microsecond}
	}}
}

// byTime is a switched network: no routers, near within a leaf, far between.
func byTime(near, far time.Duration, at ...int) network {
	return network{at, func(from, to int) wire.Reach {
		if at[from] == at[to] {
			return wire.Reach{RTT: near + time.Duration(from+to)*10}
		}
		return wire.Reach{RTT: far + time.Duration(from*to)*10}
	}}
}

// survey measures a network whose file says that the servers are on the leaves given.
func survey(n network, file []int) Survey {
	s := Survey{Spines: 2, Reached: make([][][]wire.Reach, len(file))}
	for i, leaf := range file {
		s.Servers = append(s.Servers, Server{Name: fmt.Sprintf("server%d", i), Host: fmt.Sprintf("node%d", i), Leaf: leaf})
		s.Reached[i] = make([][]wire.Reach, len(file))
	}
	for from := range file {
		for to := range file {
			if from != to {
				r := n.reach(from, to)
				r.Addr = fmt.Sprintf("10.0.0.%d:7000", to)
				s.Reached[from][to] = []wire.Reach{r}
			}
		}
	}
	return s
}

// cut makes an address of a pair unreachable.
func (s Survey) cut(from, to int, why string) {
	for i := range s.Reached[from][to] {
		r := &s.Reached[from][to][i]
		r.Err, r.Hops, r.RTT = why, -1, 0
	}
}

func want(t *testing.T, what string, got []string, lines ...string) {
	t.Helper()
	if !slices.Equal(got, lines) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestUnreached(t *testing.T) {
	const refused, timedOut = "connection refused", "timed out"
	for _, tt := range []struct {
		name string
		cut  func(s Survey)
		want []string
	}{
		{"nothing", func(Survey) {}, nil},
		{"one pair, one way", func(s Survey) { s.cut(3, 1, refused) }, []string{
			"server3 (node3) cannot reach server1 (node1) at 10.0.0.1:7000: connection refused",
		}},
		{"one server, two others", func(s Survey) { s.cut(3, 1, refused); s.cut(3, 2, refused); s.cut(3, 0, timedOut) }, []string{
			"server3 (node3) cannot reach server1 (node1) at 10.0.0.1:7000, server2 (node2) at 10.0.0.2:7000: connection refused",
			"server3 (node3) cannot reach server0 (node0) at 10.0.0.0:7000: timed out",
		}},
		{"a server that nobody reaches", func(s Survey) {
			for from := range 4 {
				s.cut(from, 4, refused)
			}
			s.cut(5, 4, timedOut)
		}, []string{
			"server4 (node4) is not reached by any of the 5 others that tried, at 10.0.0.4:7000: connection refused; timed out",
		}},
		{"a server that is cut off", func(s Survey) {
			for other := range 5 {
				s.cut(other, 5, timedOut)
				s.cut(5, other, "network is unreachable")
			}
		}, []string{
			"server5 (node5) is not reached by any of the 5 others that tried, at 10.0.0.5:7000: timed out",
			"server5 (node5) reaches none of the 5 others that it tried: network is unreachable",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leaves := []int{0, 0, 0, 1, 1, 1}
			s := survey(byHops(leaves...), leaves)
			tt.cut(s)
			r := Judge(s)
			want(t, "unreached", r.unreached, tt.want...)
			want(t, "misplaced", r.misplaced)
			if err := r.Err(); (err != nil) != (tt.want != nil) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Of a server with an address for each spine, the ones that fail are named.
func TestUnreachedSpine(t *testing.T) {
	leaves := []int{0, 0, 1, 1}
	s := survey(byHops(leaves...), leaves)
	for from := range leaves {
		for to := range leaves {
			if from != to {
				first := s.Reached[from][to][0]
				one, two := first, first
				one.Addr, two.Addr = fmt.Sprintf("10.1.0.%d:7000", to), fmt.Sprintf("10.2.0.%d:7000", to)
				if to == 2 {
					two.Err = "no route to host"
				}
				s.Reached[from][to] = []wire.Reach{first, one, two}
			}
		}
	}
	r := Judge(s)
	want(t, "unreached", r.unreached, "server2 (node2) is not reached by any of the 3 others that tried, at 10.2.0.2:7000: no route to host")
	want(t, "notes", r.Notes, "every pair of 4 servers was tried, in both directions, 36 connections")

	s.Spines = 4
	want(t, "notes with too few addresses", s.counts(), "3 addresses of server0 (node0), server1 (node1), server2 (node2), server3 (node3): "+
		"a pinned plan needs 5, the first for routing tables and one for each of 4 spines")
}

func TestLeaves(t *testing.T) {
	const us = time.Microsecond
	file := []int{0, 0, 0, 1, 1, 1}
	swapped := []int{0, 0, 1, 0, 1, 1}
	hops := "leaves are told apart by hops: 1 hop within a leaf, 3 hops between leaves"
	cannot := "cannot tell leaves apart by hops or latency"
	for _, tt := range []struct {
		name      string
		net       network
		change    func(s Survey)
		misplaced []string
		note      string
	}{
		{"as the file says", byHops(file...), nil, nil, hops + "; they are as the file says"},
		{"two changed places", byHops(swapped...), nil, []string{
			"server2 (node2) seems to be on leaf1, not on leaf0 as the file says: 1 hop to server4 (node4), 3 hops to server0 (node0) of leaf0",
			"server3 (node3) seems to be on leaf0, not on leaf1 as the file says: 1 hop to server0 (node0), 3 hops to server4 (node4) of leaf1",
		}, hops},
		{"one is elsewhere", byHops(0, 0, 7, 1, 1, 1), nil, []string{
			"server2 (node2) seems to sit on another leaf than leaf0, where the file puts it: 3 hops to server0 (node0) of leaf0",
		}, hops},
		{"leaves have other names", byHops(1, 1, 1, 0, 0, 0), nil, nil, hops + "; they are as the file says"},
		{"all on one leaf", byHops(0, 0, 0, 0, 0, 0), nil, nil, cannot},
		{"nearness is not mutual", byHops(file...), func(s Survey) { s.Reached[0][5][0].Hops, s.Reached[5][0][0].Hops = 1, 1 }, nil, cannot},
		{"one without echo", byHops(swapped...), func(s Survey) {
			for other := range file {
				if other != 2 {
					s.Reached[other][2][0].Hops, s.Reached[2][other][0].Hops = -1, -1
				}
			}
		}, []string{
			"server3 (node3) seems to be on leaf0, not on leaf1 as the file says: 1 hop to server0 (node0), 3 hops to server4 (node4) of leaf1",
		}, hops + "; of 1 servers too little is known"},
		{"times are clear", byTime(10*us, 14*us, swapped...), nil, []string{
			"server2 (node2) seems to be on leaf1, not on leaf0 as the file says: 10.1µs to server4 (node4), 14µs to server0 (node0) of leaf0",
			"server3 (node3) seems to be on leaf0, not on leaf1 as the file says: 10µs to server0 (node0), 14.1µs to server4 (node4) of leaf1",
		}, "leaves are told apart by latency: 10.1µs within a leaf, 14µs between leaves"},
		{"times are too close", byTime(10*us, 12*us, swapped...), nil, nil, cannot},
		{"one pair is slow", byTime(10*us, 10*us, file...), func(s Survey) { s.Reached[0][1][0].RTT, s.Reached[1][0][0].RTT = 90*us, 90*us }, nil, cannot},
		{"one server is slow", byTime(10*us, 30*us, 0, 0, 0, 0, 0, 7), nil, nil, cannot},
		{"all on one machine", byTime(10*us, 30*us, swapped...), func(s Survey) {
			for i := range s.Servers {
				s.Servers[i].Host = "vm"
			}
		}, nil, cannot},
		{"two to a machine", byTime(10*us, 30*us, swapped...), func(s Survey) {
			for i := range s.Servers {
				s.Servers[i].Host = fmt.Sprint("node", s.Servers[i].Leaf, i%2)
			}
		}, nil, cannot},
		{"no times", byTime(0, 0, swapped...), func(s Survey) {
			for from := range file {
				for to := range file {
					if from != to {
						s.Reached[from][to][0].RTT = 0
					}
				}
			}
		}, nil, cannot},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := survey(tt.net, file)
			if tt.change != nil {
				tt.change(s)
			}
			r := Judge(s)
			want(t, "misplaced", r.misplaced, tt.misplaced...)
			want(t, "note", r.Notes[len(r.Notes)-1:], tt.note)
			if err := r.Err(); (err != nil) != (tt.misplaced != nil) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Whatever the placement: a file that has the same servers together is left in peace, and another one is right
// once every server named is put where the report says.
func TestPlacementIsFound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		leaves, slots := 2+rnd.IntN(4), 2+rnd.IntN(4)
		file := make([]int, leaves*slots)
		for i := range file {
			file[i] = i / slots
		}
		real := slices.Clone(file)
		rnd.Shuffle(len(real), func(i, j int) { // some of them
			if rnd.IntN(3) == 0 {
				real[i], real[j] = real[j], real[i]
			}
		})
		s := survey(byHops(real...), file)
		m, groups, ok := s.byHops()
		expect.MustTrue(t, ok, "%v: hops do not tell", real)
		seats := s.seats(groups)
		for i, g := range groups {
			for _, v := range g {
				file[v] = seats[i]
			}
		}
		found := s.compare(m, groups)
		if same := together(real, s.leavesOf()); same != (len(found) == 0) {
			t.Errorf("really %v, in the file %v: %q", real, s.leavesOf(), found)
		}
		expect.True(t, together(real, file), "really %v; put right, the file is %v", real, file)
	}
}

func (s Survey) leavesOf() (out []int) {
	for _, v := range s.Servers {
		out = append(out, v.Leaf)
	}
	return out
}

// together reports whether two placements have the same servers together.
func together(a, b []int) bool {
	for i := range a {
		for j := range i {
			if (a[i] == a[j]) != (b[i] == b[j]) {
				return false
			}
		}
	}
	return true
}

func TestCoverage(t *testing.T) {
	leaves := []int{0, 0, 1, 1}
	s := survey(byHops(leaves...), leaves)
	s.Reached[0][1], s.Reached[1][0] = nil, nil
	want(t, "some", s.coverage(), "only 10 of 12 ordered pairs were measured in the time for it")
	for i := range s.Reached {
		s.Reached[i] = make([][]wire.Reach, 4)
	}
	r := Judge(s)
	want(t, "none", r.Lines(), "reach was not measured: the servers have no addresses to connect to", "cannot tell leaves apart by hops or latency")
	if r.Err() != nil {
		t.Error(r.Err())
	}
}

// A plan needs an address of a server for each spine that it sends through, beside the first.
func TestUnaddressed(t *testing.T) {
	hosts := []results.Host{{Server: 0, Addresses: []string{"a:1"}}, {Server: 4, Addresses: []string{"b:1", "b0:1", "b1:1"}}}
	for _, tt := range []struct {
		spines []fabric.Spine
		want   string
	}{
		{nil, ""},
		{[]fabric.Spine{{Case: "x", To: 1, Path: 1}}, ""},
		{[]fabric.Spine{{Case: "x", To: 1, Path: 2}}, `case "x": its plan sends to server4 through spine2, which has no address there`},
		{[]fabric.Spine{{Case: "x", To: 1, Path: 0}, {Case: "y", To: 0, Path: 0}}, `case "y": its plan sends to server0 through spine0, which has no address there`},
	} {
		_, err := Check(t.Context(), fabric.Joined{Hosts: hosts, Spines: tt.spines}, Options{Off: true})
		expect.True(t, (err == nil) == (tt.want == "") && strings.HasPrefix(fmt.Sprint(err), cmp.Or(tt.want, "<nil>")), "%v: %v, want %q", tt.spines, err, tt.want)
	}
}

// An error lists only so much.
func TestErr(t *testing.T) {
	r := Report{misplaced: make([]string, 23), Notes: []string{"n"}}
	lines := strings.Split(r.Err().Error(), "\n")
	n := len(lines)
	expect.True(t, n == 1+20+1+1+1 && lines[21] == "  and 3 more such" && lines[22] == "  (n)" && strings.Contains(lines[23], "preflight: off"),
		"%d lines: %q", n, lines)
}

func TestCompare(t *testing.T) {
	hosts := func(change func(h []results.Host)) []results.Host {
		h := make([]results.Host, 12)
		for i := range h {
			h[i] = results.Host{Host: fmt.Sprint("node", i), Version: "v1", MTU: 9000, SpeedMbit: 100000, Governor: "performance"}
		}
		change(h)
		return h
	}
	for _, tt := range []struct {
		name   string
		change func(h []results.Host)
		want   []string
	}{
		{"all alike", func([]results.Host) {}, nil},
		{"not known is no difference", func(h []results.Host) { h[3] = results.Host{Host: "node3"} }, nil},
		{"one of each", func(h []results.Host) {
			h[1].MTU, h[2].SpeedMbit, h[3].Governor, h[4].Version = 1500, 40000, "powersave", "v2"
		}, []string{
			"evbench version differs between hosts: v1 on most, v2 on node4",
			"MTU differs between hosts: 9000 on most, 1500 on node1",
			"speed of the network interface in Mbit/s differs between hosts: 100000 on most, 40000 on node2",
			"cpu governor differs between hosts: performance on most, powersave on node3",
		}},
		{"half and half", func(h []results.Host) {
			for i := range 6 {
				h[i].MTU = 1500
			}
		}, []string{"MTU differs between hosts: 1500 on node0, node1, node2, node3, node4, node5, 9000 on node6, node7, node8, node9, node10, node11"}},
		{"all save power", func(h []results.Host) {
			for i := range h {
				h[i].Governor = "powersave"
			}
		}, []string{"cpu governor is powersave on all hosts, not performance: processors change their speed while they measure"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, "warnings", Compare(hosts(tt.change)), tt.want...)
		})
	}
}
