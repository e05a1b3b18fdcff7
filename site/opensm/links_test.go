package opensm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/failover"
	"evbench/internal/trust"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/osmlog"
	"evbench/testing/expect"
	"evbench/topology"
)

// texts writes events as "leaf0-spine1 leaf down".
func texts(events []failover.LinkEvent) string {
	var out []string
	for _, e := range events {
		end, state := "spine", "down"
		if e.Leaf {
			end = "leaf"
		}
		if e.Up {
			state = "up"
		}
		out = append(out, fmt.Sprintf("%s %s %s", e.Link, end, state))
	}
	return strings.Join(out, ", ")
}

// A scene is a subnet whose log and discoveries the test writes.
type scene struct {
	s     *Subnet
	log   string
	found chan error // what the next discovery returns, and the network without cut
	cut   []string
}

// self takes this process for OpenSM, whatever it has been told.
func self(string, string) (*Process, error) {
	p, err := trust.Find(os.Getpid())
	return &Process{p: p, set: settings{level: 0x03, flush: true}}, err
}

func newScene(t *testing.T, dead ...string) *scene {
	t.Helper()
	return sceneOf(t, treeOf(t, "FT(2;2,3)", dead...))
}

func sceneOf(t *testing.T, tree *topology.Tree) *scene {
	t.Helper()
	n := networkOf(t, tree.Wires, 1)
	c := &scene{log: filepath.Join(t.TempDir(), "log"), found: make(chan error, 9)}
	s := expect.Value(NewSubnet(n, tree, SubnetOptions{Manager: &Manager{LogFile: c.log, find: self}, Discover: func(context.Context, int) ([]byte, error) {
		if err := <-c.found; err != nil {
			return nil, err
		}
		have, err := n.Degrade(c.cut)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		err = netfile.WriteIB(&b, have)
		return []byte(b.String()), err
	}}))(t)
	c.s = s
	c.write(t, "")
	return c
}

func (c *scene) write(t *testing.T, text string) {
	t.Helper()
	f, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	expect.Must(t, err)
}

const stamped = "Nov 21 18:33:47 095608 [8AD286C0] 0x04 -> "

// TestLinksHear what a log says, in both dialects, from either end.
//
//gate:race
func TestLinksHear(t *testing.T) {
	c := newScene(t, "leaf2-spine0")
	for _, step := range []struct {
		line, want string
		urgent     bool
	}{
		{"pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 3", "leaf0-spine0 leaf down, leaf0-spine0 spine down", false},
		{"osm_spst_rcv_process: Switch 0x0002c90402000000 s2_0 port 1 (x) changed state from ACTIVE to DOWN", "", false}, // the other end
		{"osm_spst_rcv_process: Switch 0x0002c90402000000 s2_0 port 1 (x) changed state from DOWN to INIT", "leaf0-spine0 leaf up, leaf0-spine0 spine up", false},
		{"osm_spst_rcv_process: Switch 0x0002c90402000001 s2_1 port 3 (x) changed state from ACTIVE to DOWN", "leaf2-spine1 leaf down, leaf2-spine1 spine down", false},
		{"osm_spst_rcv_process: Switch 0x0002c90402000000 s2_0 port 3 (x) changed state from ACTIVE to DOWN", "", false}, // is dead in the tree
		{"pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 1", "", false},                      // a server
		{"pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000099, port 3", "", false},                      // elsewhere
		{`log_notice: Reporting Urgent Notice "Link state change" from switch LID 9, GUID 0x0002c90401000000`, "", true},
	} {
		var l look
		got := texts(c.s.read([]string{stamped + step.line}, &l))
		expect.False(t, got != step.want || l.urgent != step.urgent, "%s: %q, %+v; want %q", step.line, got, l, step.want)
	}
}

// TestLinksHearThreeLevels: cables of both levels, by their ports.
//
//gate:race
func TestLinksHearThreeLevels(t *testing.T) {
	c := sceneOf(t, options(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2}, "pod1-spine0-top1"))
	for _, step := range []struct{ line, want string }{
		{"osm_spst_rcv_process: Switch 0x0002c90402000001 s2_1 port 4 (x) changed state from ACTIVE to DOWN", "pod0-spine1-top1 leaf down, pod0-spine1-top1 spine down"},
		{"osm_spst_rcv_process: Switch 0x0002c90403000003 s3_3 port 1 (x) changed state from DOWN to INIT", "pod0-spine1-top1 leaf up, pod0-spine1-top1 spine up"},
		{"osm_spst_rcv_process: Switch 0x0002c90402000002 s2_2 port 4 (x) changed state from ACTIVE to DOWN", ""}, // is dead in the tree
		{"pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90402000003, port 1", "leaf2-spine1 leaf down, leaf2-spine1 spine down"},
	} {
		expect.Equal(t, texts(c.s.read([]string{stamped + step.line}, &look{})), step.want, "%s", step.line)
	}
	c.cut = []string{"s2_0/3"} // and all others are there again
	c.found <- nil
	if tree, err := c.s.Now(t.Context()); err != nil || strings.Join(tree.DownNames(), " ") != "pod0-spine0-top0" {
		t.Errorf("%v, %v", tree.DownNames(), err)
	}
}

// TestWatchDiscovers when the log does not say which port: at the beginning, after a
// notice and after a sweep; and once more when that fails.
//
//gate:race
func TestWatchDiscovers(t *testing.T) {
	c := newScene(t)
	failed := make(chan Step, 9)
	c.s.o.Tell = func(s Step) {
		if s.Err != nil {
			failed <- s
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	events, done := make(chan failover.LinkEvent), make(chan error, 1)
	c.cut = []string{"leaf1-spine1"}
	c.found <- nil
	go func() { done <- c.s.Watch(ctx, events) }()
	expect := func(want string) {
		t.Helper()
		expect.Equal(t, texts([]failover.LinkEvent{<-events, <-events}), want, "events")
	}
	expect("leaf1-spine1 leaf down, leaf1-spine1 spine down")

	c.found <- errors.New("no answer")
	c.write(t, stamped+`log_notice: Reporting Urgent Notice "Link state change" from switch LID 9, GUID 0x0002c90401000000`+"\n")
	if s := <-failed; !strings.Contains(s.Err.Error(), "no answer") {
		t.Errorf("%+v", s)
	}
	c.cut = nil
	c.found <- nil
	expect("leaf1-spine1 leaf up, leaf1-spine1 spine up")

	c.cut = []string{"leaf0-spine0"}
	c.found <- nil
	c.write(t, stamped+"SUBNET UP\n")
	expect("leaf0-spine0 leaf down, leaf0-spine0 spine down")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if now := c.s.links.dead(); !slices.Equal(now, []topology.Link{{}}) {
		t.Errorf("%v", now)
	}
}

// TestAidWaits for OpenSM's own sweep, as far as its log tells of one.
//
//gate:race
func TestAidWaits(t *testing.T) {
	c := newScene(t)
	expect.OK(t, expect.Err(c.s.Aid(t.Context(), c.s.tree)))
	var l look
	c.s.read([]string{stamped + "pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 3"}, &l)
	c.s.o.Manager.Wait = time.Nanosecond
	expect.Error(t, expect.Err(c.s.Aid(t.Context(), c.s.tree)), "has not reported a sweep")
	c.s.read([]string{stamped + "SUBNET UP", stamped + "SUBNET UP"}, &l)
	c.s.o.Manager.Wait = time.Hour
	if _, err := c.s.Aid(t.Context(), c.s.tree); err != nil || !l.check {
		t.Error(err)
	}
}

// TestFastCableDies: one notice takes down all links of a cable that carries two messages at once.
func TestFastCableDies(t *testing.T) {
	n := expect.Value(network.Parse("PGFT(2;4,2;1,2;1,1)", 0))(t)
	rates := map[network.End]float64{}
	for _, c := range n.Cables() {
		if rates[c.A] = 200e9; n.IsHost(c.A.Node) {
			rates[c.A] = 100e9
		}
	}
	var text strings.Builder
	expect.Must(t, netfile.WriteIB(&text, n.WithRates(rates)))
	n = expect.Value(netfile.ReadIB(strings.NewReader(text.String())))(t)
	p := expect.Value(network.TreeOf(n))(t)
	l := newLinks(p.Tree, p, n)
	at := topology.Link{Leaf: 1, Cable: 1}
	low, _ := l.ends(at)
	for _, up := range []bool{false, true} {
		m := osmlog.Message{Kind: osmlog.WentDown, GUID: low.guid, Port: int(low.number)}
		want, dead := "leaf1-spine0/0 leaf down, leaf1-spine0/0 spine down, leaf1-spine0/1 leaf down, leaf1-spine0/1 spine down", 2
		if up {
			m.Kind, want, dead = osmlog.CameUp, strings.ReplaceAll(want, "down", "up"), 0
		}
		events, _ := l.say(m, time.Time{})
		expect.Equal(t, texts(events), want, "events")
		expect.Equal(t, len(l.dead()), dead, "dead links")
	}
}
