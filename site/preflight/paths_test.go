package preflight

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/controller/wire"
	"evbench/testing/expect"
)

// routed is two servers on each of some leaves with an address for each of two spines, in a network in which all
// is right. A spine calls itself by another address to each leaf.
func routed(leaves int) Survey {
	var file []int
	for l := range leaves {
		file = append(file, l, l)
	}
	s := survey(byHops(file...), file)
	s.Switches = map[string]string{}
	followed := Followed(s.Servers)
	for from, row := range s.Reached {
		for to, reached := range row {
			for k := 0; k < s.Spines && reached != nil; k++ {
				r := reached[0]
				r.Addr = fmt.Sprintf("10.%d.%d.%d:7000", k, file[to], to%2+1)
				if followed[from][to] {
					r.Router = fmt.Sprintf("172.16.%d.%d", file[from], k)
					s.Switches[r.Router] = fmt.Sprint("spine", k)
				}
				s.Reached[from][to] = append(s.Reached[from][to], r)
			}
		}
	}
	return s
}

// change changes what is known of every way that was followed.
func (s Survey) change(f func(r *wire.Reach, from, spine int)) {
	for _, w := range s.ways() {
		f(&s.Reached[w.from][w.to][1+w.spine], w.from, w.spine)
	}
}

func TestFollowed(t *testing.T) {
	var servers []Server
	fill := []int{3, 1, 4, 0, 2}
	for leaf, n := range fill {
		for range n {
			servers = append(servers, Server{Leaf: leaf})
		}
	}
	pairs, from, to := map[[2]int]int{}, make([]int, len(servers)), make([]int, len(servers))
	for i, row := range Followed(servers) {
		for j, yes := range row {
			if yes {
				pairs[[2]int{servers[i].Leaf, servers[j].Leaf}]++
				from[i]++
				to[j]++
			}
		}
	}
	expect.True(t, len(pairs) == 4*3, "%d ordered pairs of leaves: %v", len(pairs), pairs)
	for p, n := range pairs {
		expect.True(t, n == 1 && p[0] != p[1], "%v is followed %d times", p, n)
	}
	for i, v := range servers {
		if n := fill[v.Leaf]; from[i] > (len(fill)+n-1)/n || to[i] > (len(fill)+n-1)/n {
			t.Errorf("server %d on leaf%d: from %d, to %d", i, v.Leaf, from[i], to[i])
		}
	}
}

func TestPaths(t *testing.T) {
	const right = "%d of 12 addresses for a spine were seen to lead through it, from one server of each leaf to one of each other"
	const unchecked = "not checked whether %d of 12 addresses for a spine lead through it, such as server0 (node0) to server4 (node4) at 10.0.2.1:7000 for spine0: "
	for _, tt := range []struct {
		name     string
		change   func(s Survey)
		right    int
		diverted []string
		warnings []string
	}{
		{"all is right", func(Survey) {}, 12, nil, nil},
		{"the routes of two spines are exchanged on leaf0", func(s Survey) {
			s.change(func(r *wire.Reach, from, k int) {
				if s.Servers[from].Leaf == 0 {
					r.Router = fmt.Sprintf("172.16.0.%d", 1-k)
				}
			})
		}, 8, []string{
			"server0 (node0) to server4 (node4) at 10.0.2.1:7000 leads through spine1 (172.16.0.1), not through spine0",
			"server0 (node0) to server4 (node4) at 10.1.2.1:7000 leads through spine0 (172.16.0.0), not through spine1",
			"server1 (node1) to server2 (node2) at 10.0.1.1:7000 leads through spine1 (172.16.0.1), not through spine0",
			"server1 (node1) to server2 (node2) at 10.1.1.1:7000 leads through spine0 (172.16.0.0), not through spine1",
		}, nil},
		{"nobody answers", func(s Survey) { s.change(func(r *wire.Reach, _, _ int) { r.Router = "" }) }, 0, nil,
			[]string{fmt.Sprintf(unchecked, 12) + "no answer from the spine"}},
		{"one spine is silent", func(s Survey) {
			s.change(func(r *wire.Reach, _, k int) {
				if k == 0 {
					r.Router = ""
				}
			})
		}, 6, nil, []string{fmt.Sprintf(unchecked, 6) + "no answer from the spine"}},
		{"spines without an address", func(s Survey) { s.change(func(r *wire.Reach, _, _ int) { r.Router = nameless }) }, 0, nil,
			[]string{fmt.Sprintf(unchecked, 12) + "the spine answers as 192.0.0.8, so it has no address of its own"}},
		{"other addresses", func(s Survey) { clear(s.Switches) }, 0, nil,
			[]string{fmt.Sprintf(unchecked, 12) + "the spine answers, but by addresses that are not those of routes export"}},
		{"one link is bridged", func(s Survey) { s.change(func(r *wire.Reach, _, _ int) { r.Hops, r.Router = 4, "" }) }, 0, nil,
			[]string{fmt.Sprintf(unchecked, 12) + "there are 4 routers on the way, and so no spine half way"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := routed(3)
			tt.change(s)
			r := Judge(s)
			want(t, "diverted", r.diverted, tt.diverted...)
			want(t, "warnings", r.Warnings, tt.warnings...)
			note := fmt.Sprintf(right, tt.right)
			expect.True(t, strings.Contains(strings.Join(r.Notes, "\n"), note) == (tt.right > 0), "notes %q, want %q", r.Notes, note)
			if err := r.Err(); (err != nil) != (tt.diverted != nil) || err != nil && !strings.Contains(err.Error(), "correct the routes of the switches") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A router of an unknown name that answers for two spines is one too few.
func TestSharedRouter(t *testing.T) {
	s := routed(2)
	clear(s.Switches)
	s.change(func(r *wire.Reach, from, _ int) {
		if s.Servers[from].Leaf == 0 {
			r.Router = "10.9.9.9"
		}
	})
	r := Judge(s)
	want(t, "warnings", r.Warnings[1:],
		"server1 (node1) to server2 (node2): the addresses for spine0 and spine1, 10.0.1.1:7000 and 10.1.1.1:7000, lead through one router, 10.9.9.9")
}

// Where hops are not counted, or servers have other numbers of addresses, nothing is said to be right.
func TestPathsUnknown(t *testing.T) {
	s := routed(2)
	for from := range s.Reached {
		for to := range s.Reached[from] {
			for i := range s.Reached[from][to] {
				s.Reached[from][to][i].Hops = -1
			}
		}
	}
	r := Judge(s)
	expect.True(t, len(r.Warnings) == 1 && strings.HasSuffix(r.Warnings[0], "routers on the way cannot be counted"), "warnings %q", r.Warnings)
	leaves := []int{0, 0, 1, 1}
	if r := Judge(survey(byHops(leaves...), leaves)); len(r.Warnings) > 0 || strings.Contains(strings.Join(r.Notes, "\n"), "for a spine") {
		t.Errorf("%+v", r)
	}
}

// said is what the kernel hands over with a packet that came back.
func said(level, kind int32, origin, icmp byte, family uint16, addr ...byte) []byte {
	data := make([]byte, offenderAt+4)
	data[originAt], data[typeAt] = origin, icmp
	binary.NativeEndian.PutUint16(data[offenderAt:], family)
	if family == unix.AF_INET6 {
		data = append(data, make([]byte, offender6At-offender4At)...)
	}
	data = append(data, addr...)
	b := make([]byte, unix.CmsgSpace(len(data)))
	h := unix.Cmsghdr{Level: level, Type: kind}
	h.SetLen(unix.CmsgLen(len(data)))
	if _, err := binary.Encode(b, binary.NativeEndian, h); err != nil {
		panic(err)
	}
	copy(b[unix.CmsgLen(0):], data)
	return b
}

func TestOffender(t *testing.T) {
	v6 := []byte{0xfd, 1, 14: 0, 15: 9}
	for _, tt := range []struct {
		name    string
		control []byte
		want    string
	}{
		{"nothing", nil, ""},
		{"no messages", []byte{1, 2, 3}, ""},
		{"a router", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, timeExceeded4, unix.AF_INET, 172, 16, 0, 3), "172.16.0.3"},
		{"a router of IPv6", said(unix.IPPROTO_IPV6, unix.IPV6_RECVERR, unix.SO_EE_ORIGIN_ICMP6, timeExceeded6, unix.AF_INET6, v6...), "fd01::9"},
		{"unreachable", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, 3, unix.AF_INET, 172, 16, 0, 3), ""},
		{"this machine", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_LOCAL, timeExceeded4, unix.AF_INET, 172, 16, 0, 3), ""},
		{"a TTL", said(unix.IPPROTO_IP, unix.IP_TTL, unix.SO_EE_ORIGIN_ICMP, timeExceeded4, unix.AF_INET, 172, 16, 0, 3), ""},
		{"cut short", said(unix.IPPROTO_IPV6, unix.IPV6_RECVERR, unix.SO_EE_ORIGIN_ICMP6, timeExceeded6, unix.AF_INET6, 1, 2, 3, 4), ""},
		{"no address", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, timeExceeded4, unix.AF_INET), ""},
	} {
		expect.Equal(t, offender(tt.control), tt.want, "%s", tt.name)
	}
}

// On the way to this machine is no router: the packet arrives, and nobody says anything.
func TestRouterOfNone(t *testing.T) {
	a := dataPort(t, "127.0.0.1:0")
	echoAt(t, "secret", a)
	expect.Equal(t, router(t.Context(), a, 1), "", "router")
	expect.Equal(t, router(t.Context(), "no port", 1), "", "router")
}
