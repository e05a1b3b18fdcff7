package failover

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

const ms = time.Millisecond

// small is FT(2;2,3): three leaves, two spines.
func small(t testing.TB, dead ...topology.Link) *topology.Tree {
	t.Helper()
	return topologytest.Without(t, topology.Options{Ports: 2, Leaves: 3}, dead...)
}

// play runs a script on a new machine and returns it. A line is
//
//	TIME EVENT + EVENT … -> ACTION, ACTION … | STATE, STATE …
//
// with the events of one call of Handle, the actions that are wanted of it, and after "|"
// what idle and Wake have to say: idle, busy, wake TIME, asleep. Events and actions are
// written as in parseEvent and format. "00" is leaf0-spine0. Lines that begin with # are
// for the reader.
func play(t *testing.T, o Options, script string) *Machine {
	t.Helper()
	m := New(o)
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		step, state, _ := strings.Cut(line, "|")
		left, want, ok := strings.Cut(step, "->")
		at, events, _ := strings.Cut(strings.TrimSpace(left), " ")
		expect.MustTrue(t, ok, "%s: no ->", line)
		now := duration(t, at)
		var all []Event
		for e := range strings.SplitSeq(events, "+") {
			all = append(all, parseEvent(t, now, strings.Fields(e))...)
		}
		expect.Equal(t, format(m.Handle(now, all...)), strings.TrimSpace(want), "%s", line)
		checkState(t, m, line, state)
	}
	checkRecords(t, m)
	return m
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d := expect.Value(time.ParseDuration(s))(t)
	return d
}

func link(t *testing.T, s string) topology.Link {
	t.Helper()
	n, err := strconv.Atoi(s)
	expect.MustTrue(t, err == nil && len(s) == 2, "no link %q", s)
	return topology.Link{Leaf: n / 10, Spine: n % 10}
}

// parseEvent reads an event: "down 00" for both ends of a link, "down 00 leaf" for one,
// "up 00 spine reread"; "aided 1", "aided 1 fails", "planned 1 apart"; "looked 00 11"; lost; tick.
func parseEvent(t *testing.T, now time.Duration, f []string) []Event {
	t.Helper()
	f = append(f, "", "", "")
	switch f[0] {
	case "down", "up":
		e := End{Link: link(t, f[1]), Up: f[0] == "up", Reread: f[3] == "reread"}
		e.Leaf = f[2] != "spine"
		if f[2] != "" {
			return []Event{e}
		}
		other := e
		other.Leaf = false
		return []Event{e, other}
	case "lost":
		return []Event{WorkerLost{"worker 3 does not answer"}}
	case "moved":
		return []Event{Moved{}}
	case "tick":
		return []Event{Tick{}}
	case "looked":
		return []Event{looked(t, f[1:])}
	}
	id, err := strconv.Atoi(f[1])
	expect.MustTrue(t, err == nil, "event %q: %v", f, err)
	return []Event{parseAnswer(t, now, f[0], id, f[2])}
}

// looked reads the links that are dead: "00 11", "-" for none, "fails".
func looked(t *testing.T, f []string) Looked {
	t.Helper()
	if f[0] == "fails" {
		return Looked{Err: errors.New("refused")}
	}
	var e Looked
	for _, l := range f {
		if l != "" && l != "-" {
			e.Dead = append(e.Dead, link(t, l))
		}
	}
	return e
}

func parseAnswer(t *testing.T, now time.Duration, what string, id int, how string) Event {
	t.Helper()
	var err error
	if how == "fails" {
		err = errors.New("refused")
	}
	switch what {
	case "aided":
		return Aided{ID: id, Changed: 3, Err: err}
	case "planned":
		e := Planned{ID: id, Source: Computed, Plan: ms, Verify: ms / 2, Phases: 7, Hash: "h" + strconv.Itoa(id), Err: err}
		if how == "apart" {
			e.Disjoint, e.Err = "server0 and server1", errors.New("no plan")
		}
		return e
	case "installed":
		return Installed{ID: id, Changed: 5, Err: err}
	case "updated":
		return Updated{ID: id, From: 100 * uint64(id), Err: err}
	case "switched":
		return Switched{ID: id, Switch: Switch{From: 100 * uint64(id), LastOld: now - 2*ms, FirstNew: now - ms}}
	case "cleaned":
		return Cleaned{ID: id, Changed: 2, Err: err}
	}
	t.Fatalf("no event %q", what)
	return nil
}

func format(actions []Action) string {
	var out []string
	for _, a := range actions {
		switch a := a.(type) {
		case Aid:
			out = append(out, fmt.Sprintf("aid %d %s", a.ID, short(a.Dead)))
		case MakePlan:
			out = append(out, fmt.Sprintf("plan %d %s", a.ID, short(a.Dead)))
		case Install:
			out = append(out, fmt.Sprintf("install %d", a.ID))
		case Update:
			out = append(out, fmt.Sprintf("update %d", a.ID))
		case Clean:
			out = append(out, fmt.Sprintf("clean %d", a.ID))
		case Look:
			out = append(out, "look")
		case Stop:
			out = append(out, "stop")
		}
	}
	return strings.Join(out, ", ")
}

// short writes links as "00 12"; "-" is none.
func short(links []topology.Link) string {
	var out []string
	for _, l := range links {
		out = append(out, fmt.Sprintf("%d%d", l.Leaf, l.Spine))
	}
	return cmp.Or(strings.Join(out, " "), "-")
}

func checkState(t *testing.T, m *Machine, line, state string) {
	t.Helper()
	at, wakes := m.Wake()
	for s := range strings.SplitSeq(state, ",") {
		var ok bool
		switch f := append(strings.Fields(s), ""); f[0] {
		case "idle":
			ok = m.idle()
		case "busy":
			ok = !m.idle()
		case "asleep":
			ok = !wakes
		case "wake":
			ok = wakes && at == duration(t, f[1])
		default:
			ok = s == ""
		}
		if !ok {
			t.Errorf("%s\n\tidle %t, wake %s %t", line, m.idle(), at, wakes)
		}
	}
}

// checkRecords checks what holds of every record: IDs count, changes add up, times that are there rise.
func checkRecords(t testing.TB, m *Machine) {
	t.Helper()
	dead := m.o.Tree.Dead()
	for i, r := range m.Records() {
		dead = append(topology.Minus(dead, r.Up), r.Down...)
		slices.SortFunc(dead, topology.Link.Compare)
		expect.True(t, r.ID == i+1 && slices.Equal(dead, r.Dead) && len(topology.Minus(r.Held, r.Dead)) == 0,
			"record %d: %+v; dead by the changes %v", i+1, r, dead)
		for _, s := range [][]time.Duration{{r.Seen, r.Aided}, {r.Seen, r.Planned, r.Verified, r.Installed}, {r.Installed, r.Updated, r.Cleaned}, {r.Switch.LastOld, r.Switch.FirstNew, r.Cleaned}} {
			s = slices.DeleteFunc(s, func(d time.Duration) bool { return d == 0 })
			expect.True(t, slices.IsSorted(s), "record %d: times %v do not rise: %+v", r.ID, s, r)
		}
		expect.False(t, i > 0 && r.Seen < m.Records()[i-1].Seen, "record %d was seen before the one before", r.ID)
	}
}
