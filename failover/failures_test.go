package failover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// recordText prints a record without its links.
func recordText(r Record) string {
	r.Down, r.Up, r.Dead, r.Held = nil, nil, nil, nil
	return fmt.Sprintf("%+v", r)
}

const aid00 = `
	10ms down 00       -> aid 1 00
	11ms tick          -> plan 1 00
	12ms aided 1       ->
`

const planned00 = aid00 + `
	13ms planned 1     -> install 1
`

func TestFailedActions(t *testing.T) {
	const installFails = planned00 + `
		14ms  installed 1 fails -> aid 1 00
		15ms  aided 1           ->           | wake 114ms, busy
		114ms tick              -> install 1
	`
	tests := []struct {
		scripted
		err      string
		attempts int
	}{
		{scripted{"installation: rolled back, then again", replan, installFails + `
			115ms installed 1       -> update 1
			116ms updated 1         ->
			120ms switched 1        -> clean 1
			121ms cleaned 1         -> | idle, asleep
		`}, "install: refused", 2},
		{scripted{"installation, for good", replan, installFails + `
			115ms installed 1 fails -> aid 1 00
			116ms aided 1           -> | wake 215ms
			215ms tick              -> install 1
			216ms installed 1 fails -> aid 1 00
			217ms aided 1           -> | idle, asleep
			# on first aid; another change is another matter
			300ms down 10           -> aid 2 00 10
			301ms aided 2           -> plan 2 00 10
			302ms planned 2         -> install 2
			303ms installed 2       -> update 2
		`}, "install: refused", 3},
		{scripted{"installation: the next link event retries at once", replan, installFails + `
			115ms installed 1 fails -> aid 1 00
			116ms aided 1           -> | wake 215ms
			120ms up 00 leaf        -> aid 1 00
			121ms aided 1           -> install 1
		`}, "install: refused", 3},
		{scripted{"installation and rolling back", replan, installFails + `
			115ms installed 1 fails -> aid 1 00
			116ms aided 1 fails     -> | wake 216ms
			216ms tick              -> aid 1 00
			217ms aided 1           -> install 1
		`}, "first aid: refused", 3},
		{scripted{"first aid", replan, `
			10ms  down 00       -> aid 1 00
			11ms  aided 1 fails -> plan 1 00 | wake 111ms
			12ms  planned 1     ->           | wake 111ms
			111ms tick          -> aid 1 00
			112ms aided 1       -> install 1
		`}, "first aid: refused", 1},
		{scripted{"first aid, for good", replan, `
			10ms  down 00       -> aid 1 00
			11ms  aided 1 fails -> plan 1 00
			12ms  planned 1     ->
			111ms tick          -> aid 1 00
			112ms aided 1 fails ->
			212ms tick          -> aid 1 00
			213ms aided 1 fails -> | idle, asleep
			300ms up 00         -> clean 2
			301ms cleaned 2     -> | idle, asleep
		`}, "first aid: refused", 0},
		{scripted{"plan", replan, aid00 + `
			13ms  planned 1 fails -> | wake 113ms, busy
			113ms tick            -> plan 1 00
			114ms planned 1       -> install 1
		`}, "plan: refused", 1},
		{scripted{"plan, for good", replan, aid00 + `
			13ms  planned 1 fails -> | wake 113ms, busy
			113ms tick            -> plan 1 00
			114ms planned 1 fails -> | wake 214ms
			214ms tick            -> plan 1 00
			215ms planned 1 fails -> | idle, asleep
			300ms up 00           -> clean 2
			301ms cleaned 2       -> | idle, asleep
		`}, "plan: refused", 0},
		{scripted{"update", replan, planned00 + `
			14ms  installed 1     -> update 1
			15ms  updated 1 fails -> | wake 115ms, busy
			115ms tick            -> update 1
			116ms updated 1       ->
			117ms switched 1      -> clean 1
		`}, "update: refused", 1},
		{scripted{"update, for good: back to first aid", replan, planned00 + `
			14ms  installed 1     -> update 1
			15ms  updated 1 fails ->
			115ms tick            -> update 1
			116ms updated 1 fails ->
			216ms tick            -> update 1
			217ms updated 1 fails -> aid 1 00
			218ms aided 1         -> | idle, asleep
			300ms up 00           -> clean 2
		`}, "update: refused", 1},
		{scripted{"a switch nobody has seen", replan, planned00 + `
			14ms  installed 1     -> update 1
			15ms  updated 1       ->
			16ms  updated 1 fails -> | wake 116ms, busy
			116ms tick            -> update 1
			117ms updated 1       ->
			118ms switched 1      -> clean 1
		`}, "update: refused", 1},
		{scripted{"a switch nobody has seen, and the link comes back", replan, planned00 + `
			14ms  installed 1     -> update 1
			15ms  updated 1       ->
			16ms  up 00           ->
			17ms  updated 1 fails -> plan 2 -
			18ms  planned 2       -> install 2
			19ms  installed 2     -> update 2
		`}, "update: refused", 1},
		{scripted{"cleaning", replan, planned00 + `
			14ms  installed 1     -> update 1
			15ms  updated 1       ->
			16ms  switched 1      -> clean 1
			17ms  cleaned 1 fails -> | wake 117ms, busy
			117ms tick            -> clean 1
			118ms cleaned 1 fails -> | wake 218ms
			218ms tick            -> clean 1
			219ms cleaned 1 fails -> | idle, asleep
			# something happens to the routes: that is a reason to try again
			300ms up 00 leaf reread -> clean 1
			301ms cleaned 1       -> | idle, asleep
			400ms up 00 spine     ->
			401ms tick            -> plan 2 -
		`}, "clean: refused", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := play(t, tt.options(t), tt.script).Records()[0]
			expect.True(t, r.Err == tt.err && r.Attempts == tt.attempts,
				"error %q after %d attempts, want %q after %d", r.Err, r.Attempts, tt.err, tt.attempts)
		})
	}
}

// A worker is lost at every moment: what writes routes is waited for, nothing is begun.
func TestWorkerLost(t *testing.T) {
	const after = `
		50ms down 10       -> | idle, asleep
		51ms tick          -> | idle, asleep
	`
	playAll(t, []scripted{
		{"before anything", replan, `10ms lost -> | idle, asleep` + after},
		{"during first aid", replan, `
			10ms down 00         -> aid 1 00
			11ms lost            -> | busy, asleep
			12ms aided 1         -> | idle, asleep
		` + after},
		{"during first aid, which fails", replan, `
			10ms down 00         -> aid 1 00
			11ms lost            -> | busy, asleep
			12ms aided 1 fails   -> | idle, asleep
		` + after},
		{"while planning", replan, aid00 + `
			13ms lost            -> | idle, asleep
			14ms planned 1       -> | idle, asleep
		` + after},
		{"while installing", replan, planned00 + `
			14ms lost            -> | busy, asleep
			15ms installed 1     -> | idle, asleep
		` + after},
		{"during an update", replan, planned00 + `
			14ms installed 1     -> update 1
			15ms lost            -> | idle, asleep
			16ms updated 1 fails -> | idle, asleep
		` + after},
		{"before the switch", replan, planned00 + `
			14ms installed 1     -> update 1
			15ms updated 1       ->
			16ms lost            -> | idle, asleep
			17ms switched 1      -> | idle, asleep
		` + after},
		{"while cleaning", replan, planned00 + `
			14ms installed 1     -> update 1
			15ms updated 1       ->
			16ms switched 1      -> clean 1
			17ms lost            -> | busy, asleep
			18ms cleaned 1 fails -> | idle, asleep
		` + after},
	})
}

func TestDisjoint(t *testing.T) {
	playAll(t, []scripted{
		{"the run ends", replan, aid00 + `
			13ms down 11       -> aid 2 00 11 | wake 63ms
			14ms planned 1     ->
			15ms aided 2       ->      | wake 63ms
			63ms tick          -> look | asleep
			64ms looked 00 11  -> stop | idle, asleep
			65ms up 11         ->      | idle
		`},
		{"during first aid", replan, `
			10ms down 00       -> aid 1 00
			11ms down 11       ->      | wake 61ms
			61ms tick          -> look
			61ms looked 11 00  -> stop | busy, asleep
			62ms aided 1       ->      | idle
		`},
		{"links cannot be read", replan, aid00 + `
			13ms down 11       -> aid 2 00 11
			63ms tick          -> look
			64ms looked fails  -> stop
		`},
		{"a return that is heard very late: it is read first", replan, aid00 + `
			13ms down 11       -> aid 2 00 11 | wake 63ms
			15ms aided 2       ->      | wake 63ms
			63ms tick          -> look | asleep
			64ms looked 11     ->      | wake 114ms
			114ms tick         -> look | asleep
			115ms looked 11    ->      | wake 165ms
			150ms up 00        -> aid 3 11 | wake 151ms
		`},
		{"a return that is heard while links are read", replan, aid00 + `
			13ms down 11       -> aid 2 00 11
			15ms aided 2       ->
			63ms tick          -> look
			64ms up 00         -> aid 3 11
			65ms looked 00 11  -> plan 3 11
			66ms down 00       -> | wake 116ms
		`},
		{"another link is back, and servers have no path all the same", replan, aid00 + `
			13ms down 11 + down 10 -> aid 2 00 10 11
			15ms aided 2       ->
			63ms tick          -> look
			64ms looked 00 11  -> stop
		`},
		{"wait: links are read at the end", func(t *testing.T) Options { o := waiting(t); o.Limit = time.Second; return o }, aid00 + `
			13ms down 11       -> aid 2 00 11 | wake 1013ms
			15ms aided 2       ->
			1013ms tick        -> look
			1014ms looked 11   -> | wake 1064ms
			1064ms tick        -> look
			1065ms looked 00 11 -> stop
		`},
		{"a return that is heard late: the run goes on", replan, aid00 + `
			13ms down 11       -> aid 2 00 11 | wake 63ms
			14ms up 00         ->
			15ms aided 2       -> aid 3 11, plan 3 11
			70ms aided 3       ->
		`},
		{"more dies meanwhile: it is as long as from the first", replan, aid00 + `
			13ms down 11       -> aid 2 00 11 | wake 63ms
			40ms down 10       ->             | wake 63ms
			63ms tick          -> look
			63ms looked 00 10 11 -> stop
		`},
		{"wait: what can be reached is, and a link's return mends it", waiting, aid00 + `
			13ms down 11       -> aid 2 00 11
			14ms tick          -> | busy, asleep
			15ms planned 1     ->
			16ms aided 2       -> | idle, asleep
			20ms up 11         -> aid 3 00
			21ms aided 3       -> plan 3 00
			22ms planned 3     -> install 3
		`},
		{"wait: aid that cannot work", waiting, `
			10ms  down 00 + down 11 -> aid 1 00 11
			11ms  aided 1 fails -> | wake 111ms
			111ms tick          -> aid 1 00 11
			112ms aided 1 fails ->
			212ms tick          -> aid 1 00 11
			213ms aided 1 fails -> | idle, asleep
			300ms up 00 + up 11 -> clean 2
		`},
		{"wait: back to what is in use", waiting, aid00 + `
			13ms down 11        -> aid 2 00 11
			14ms aided 2        ->
			15ms up 00 + up 11  -> clean 3
		`},
		{"wait: a link that was still up dies too", waiting, `
			10ms down 00 + down 11 -> aid 1 00 11
			12ms aided 1        -> | idle
			13ms down 10        -> aid 2 00 10 11
			14ms aided 2        -> | idle
			15ms up 10          -> aid 3 00 11
			16ms aided 3        -> | idle
		`},
		{"wait: and back to what workers are going over to", waiting, planned00 + `
			14ms installed 1     -> update 1
			15ms updated 1       ->
			16ms down 11         -> aid 2 00 11
			17ms aided 2         ->
			18ms up 11           -> aid 3 00
			19ms aided 3         ->
			20ms switched 1      -> clean 3
			21ms cleaned 3       -> | idle, asleep
		`},
		{"the planner knows better: the run ends", replan, aid00 + `
			13ms planned 1 apart -> look
			14ms looked 00       -> stop | idle, asleep
		`},
		{"the planner knows better: wait", waiting, aid00 + `
			13ms planned 1 apart -> | idle, asleep
			20ms up 00           -> clean 2
		`},
		{"tables only: wait", func(t *testing.T) Options { o := tables(t); o.Wait = true; return o }, `
			10ms down 00 + down 11 -> aid 1 00 11
			12ms aided 1        -> | idle
			13ms up 00          -> aid 2 11
		`},
		{"none: the run ends", nothing, `
			10ms down 00        ->
			11ms down 11        -> | wake 61ms
			61ms tick           -> look
			61ms looked 00 11   -> stop
		`},
	})
}

func TestDisjointIsNamed(t *testing.T) {
	m := play(t, waiting(t), `10ms down 00 + down 11 -> aid 1 00 11`)
	want := "no path between leaf0 (server0 to server1) and leaf1 (server2 to server3): dead are leaf0-spine0, leaf1-spine1"
	expect.Equal(t, m.Records()[0].Disjoint, want, "got")
	var dead []topology.Link
	for leaf := range 20 {
		dead = append(dead, topology.Link{Leaf: leaf})
	}
	got := disjoint(&topologytest.Without(t, topology.Options{Ports: 1, Leaves: 20}, dead...).Live)
	if want := "no path between leaf0 (server0) and leaf1 (server1) or "; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s…", got, want)
	}
	expect.True(t, strings.Contains(got, "and 187 more: dead are leaf0-spine0") && strings.HasSuffix(got, "leaf15-spine0 and 4 more"),
		"not cut short: %s", got)
}

func TestHold(t *testing.T) {
	playAll(t, []scripted{
		{"a link is used once it has stayed up", holding, down00 + `
			100ms  up 00       -> | idle, wake 1100ms
			600ms  tick        -> | idle, wake 1100ms
			1100ms tick        -> | wake 1101ms, busy
			1101ms tick        -> plan 2 -
		`},
		{"a flap begins it anew, and changes nothing", holding, down00 + `
			100ms  up 00       -> | idle, wake 1100ms
			900ms  down 00     -> | idle, asleep
			950ms  up 00 leaf  -> | idle, asleep
			960ms  up 00 spine -> | idle, wake 1960ms
			1100ms tick        -> | idle, wake 1960ms
			1960ms tick        -> | busy
		`},
		{"it is out from the first moment", holding, `
			10ms down 00       -> aid 1 00
			11ms up 00         -> plan 1 00
			12ms aided 1       ->
			13ms planned 1     -> install 1
			14ms installed 1   -> update 1
			15ms updated 1     ->
			16ms switched 1    -> clean 1
			17ms cleaned 1     -> | idle, wake 1011ms
		`},
		{"another link dies meanwhile", holding, down00 + `
			100ms  up 00       -> | idle, wake 1100ms
			200ms  down 10     -> aid 2 00 10 | wake 201ms
		`},
		{"none is held out that servers need", holding, down00 + `
			100ms  up 00       -> | idle, wake 1100ms
			200ms  down 11     -> aid 2 11
			201ms  aided 2     -> plan 2 11
			202ms  planned 2   -> install 2
			203ms  installed 2 -> update 2
			204ms  updated 2   ->
			205ms  switched 2  -> clean 2
			206ms  cleaned 2   -> | idle, asleep
			300ms  up 11       -> | idle, wake 1300ms
		`},
	})
}

// Workers hold for a change for a second at most, whatever its routes take.
func TestWorkersHoldNoLonger(t *testing.T) {
	m := play(t, replan(t), `
		10ms   down 00       -> aid 1 00
		11ms   tick          -> plan 1 00
		12ms   aided 1       ->
		15ms   planned 1     -> install 1 | busy, wake 1015ms
	`)
	expect.Equal(t, m.holding, 1, "held")
	expect.True(t, slices.Equal(m.Handle(1015*ms, Tick{}), []Action{Hold{0}}), "they do not go on")
	expect.True(t, slices.Equal(m.Handle(3*time.Second, Installed{ID: 1}), []Action{Update{1}}), "no update")
	m.Handle(3001*ms, Updated{ID: 1})
	m.Handle(3002*ms, Switched{ID: 1})
	m.Handle(3003*ms, Cleaned{ID: 1})
	expect.True(t, m.idle() && m.holding == 0, "busy")
}

func TestHeldInRecord(t *testing.T) {
	m := play(t, holding(t), down00+`
		100ms  up 00       -> | wake 1100ms
		200ms  down 10     -> aid 2 00 10
	`)
	r := m.Records()[1]
	expect.True(t, short(r.Dead) == "00 10" && short(r.Held) == "00" && short(r.Down) == "10", "record %+v", r)
}

func TestLinksDeadFromTheBeginning(t *testing.T) {
	o := FORS.Options(small(t, topology.Link{}), 0)
	m := play(t, o, `
		1ms  down 00       -> | idle, asleep
		10ms up 00         ->
		11ms tick          -> plan 1 -
		12ms planned 1     -> install 1
		13ms installed 1   -> update 1
	`)
	r := m.Records()[0]
	expect.True(t, short(r.Up) == "00" && short(r.Dead) == "-", "record %+v", r)
}

func TestPolicies(t *testing.T) {
	for _, p := range Policies() {
		if got, err := ParsePolicy(string(p)); got != p || err != nil {
			t.Errorf("%s is %s, %v", p, got, err)
		}
		o := p.Options(small(t), 0)
		expect.True(t, o.Aid == (p != None) && o.replan == (p == Unsync || p == FORS || p == FORSHold) && (o.hold == DefaultHold) == (p == FORSHold),
			"%s: %+v", p, o)
	}
	expect.Equal(t, FORSHold.Options(small(t), time.Minute).hold, time.Minute, "hold")
	_, err := ParsePolicy("fast")
	want := `unknown policy "fast"; policies are none, minhop, spread, unsync, fors, fors+hold`
	expect.True(t, err != nil && err.Error() == want, "error %v, want %s", err, want)
}
