package failover

import (
	"slices"
	"testing"
	"time"

	"evbench/testing/expect"
)

// Policies for scripts; debounce is 1ms, retry 100ms.

func replan(t *testing.T) Options {
	o := FORS.Options(small(t), 0)
	o.attempts = 3
	return o
}

func holding(t *testing.T) Options {
	o := replan(t)
	o.hold = time.Second
	return o
}

func waiting(t *testing.T) Options {
	o := replan(t)
	o.Wait = true
	return o
}

func tables(t *testing.T) Options {
	o := MinHop.Options(small(t), 0)
	o.attempts = 3
	return o
}

func nothing(t *testing.T) Options { return None.Options(small(t), 0) }

// down00 takes leaf0-spine0 from its death to the new plan in use, and its routes.
const down00 = `
	10ms down 00       -> aid 1 00    | busy, wake 11ms
	11ms tick          -> plan 1 00   | busy, asleep
	12ms aided 1       ->
	15ms planned 1     -> install 1
	18ms installed 1   -> update 1
	19ms updated 1     ->             | busy, asleep
	30ms switched 1    -> clean 1
	33ms cleaned 1     ->             | idle, asleep
`

type scripted struct {
	name    string
	options func(t *testing.T) Options
	script  string
}

func playAll(t *testing.T, all []scripted) {
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) { play(t, s.options(t), s.script) })
	}
}

func TestChanges(t *testing.T) {
	playAll(t, []scripted{
		{"a link dies and comes back", replan, down00 + `
			100ms up 00        -> | wake 101ms
			101ms tick         -> plan 2 -
			105ms planned 2    -> install 2
			108ms installed 2  -> update 2
			109ms updated 2    ->
			120ms switched 2   -> clean 2
			123ms cleaned 2    -> | idle, asleep
		`},
		{"tables move, and again while the workers get the plan", replan, `
			10ms moved         -> | wake 11ms
			11ms tick          -> plan 1 -
			15ms planned 1     -> install 1
			18ms installed 1   -> update 1
			19ms moved         -> | busy, wake 20ms
			20ms tick          -> plan 2 -
			21ms planned 2     -> install 2
			22ms updated 1     ->
			23ms installed 2   ->
			30ms switched 1    -> update 2
			31ms updated 2     ->
			40ms switched 2    -> clean 2
			43ms cleaned 2     -> | idle, asleep
		`},
		{"nothing new, a tick, an unknown link, answers nobody asked for", replan, `
			1ms up 00          -> | idle, asleep
			2ms tick           -> | idle, asleep
			3ms down 09        -> | idle, asleep
			4ms aided 1 + planned 1 + installed 1 + updated 1 + switched 1 + cleaned 1 -> | idle, asleep
			4ms aided 0 + planned 0 + installed 0 + updated 0 + switched 0 + cleaned 0 -> | idle, asleep
		`},
		{"a spine dies: one change, one first aid", waiting, `
			10ms down 00 + down 10 -> aid 1 00 10
			11ms tick              -> plan 1 00 10
		`},
		{"links that are heard apart: aid for the newest, one plan", replan, `
			10ms   down 00     -> aid 1 00
			10.4ms down 10     -> | wake 11.4ms
			10.6ms aided 1     -> aid 2 00 10
			11ms   tick        ->
			11.4ms tick        -> plan 2 00 10
			12ms   aided 2     ->
		`},
		{"a storm does not put off planning for ever", replan, `
			10ms   down 00     -> aid 1 00  | wake 11ms
			10.9ms up 00       ->           | asleep, busy
			11.8ms down 10     ->           | wake 12.8ms
			12.7ms down 20     ->           | wake 13.7ms
			13.6ms up 20       ->           | wake 14ms
			14ms   tick        -> plan 5 10
			14.5ms down 20     ->           | wake 15.5ms
			15.5ms tick        -> plan 6 10 20
			16ms   aided 1     -> aid 6 10 20
		`},
		{"the second end is heard later", replan, `
			10ms   down 00 leaf  -> aid 1 00
			10.2ms down 00 spine ->
			11ms   tick          -> plan 1 00
			11.1ms planned 1     ->
			12ms   aided 1       -> install 1
			13.5ms up 00 leaf    ->
			14ms   installed 1   -> install 1
			15ms   installed 1   -> update 1
			15.5ms down 00 leaf  -> install 1
			16ms   updated 1     ->
			17ms   installed 1   ->
			20ms   switched 1    -> clean 1
			# no route leads over it any more, but some were still being deleted
			21ms   up 00 spine   ->
			22ms   cleaned 1     -> clean 1
			23ms   cleaned 1     -> | idle
			24ms   down 00 spine -> | idle, asleep
		`},
		{"routes that the kernel has deleted for a blip between two events", replan, `
			10ms down 00 + up 00 -> clean 0
			12ms cleaned 0       -> | idle
		`},
		{"time runs backwards", replan, `
			10ms down 00       -> aid 1 00 | wake 11ms
			5ms  tick          ->          | wake 11ms
			0s   aided 1       ->          | wake 11ms
			11ms tick          -> plan 1 00
		`},
		{"no debounce", func(t *testing.T) Options { o := replan(t); o.Debounce = 0; return o }, `
			10ms down 00       -> aid 1 00, plan 1 00
		`},
		{"a plan without first aid", func(t *testing.T) Options { o := replan(t); o.Aid = false; return o }, `
			10ms down 00       ->
			11ms tick          -> plan 1 00
			15ms planned 1     -> install 1
			16ms installed 1 fails -> aid 1 00
			17ms aided 1       -> | wake 116ms
			116ms tick         -> install 1
			117ms installed 1  -> update 1
		`},
		{"a plan without first aid, and updates that fail: rolled back", func(t *testing.T) Options { o := replan(t); o.Aid, o.attempts = false, 0; return o }, `
			10ms down 00       ->
			11ms tick          -> plan 1 00
			15ms planned 1     -> install 1
			16ms installed 1   -> update 1
			17ms updated 1 fails -> aid 1 00
			18ms aided 1       -> | idle, asleep
		`},
	})
}

func TestSecondFailures(t *testing.T) {
	const begin = `
		10ms down 00       -> aid 1 00
		11ms tick          -> plan 1 00
		12ms aided 1       ->
	`
	const rest2 = `
		40ms planned 2     -> install 2
		42ms installed 2   -> update 2
		43ms updated 2     ->
		50ms switched 2    -> clean 2
		52ms cleaned 2     -> | idle, asleep
	`
	playAll(t, []scripted{
		{"while planning", replan, begin + `
			13ms down 10       -> aid 2 00 10
			14ms aided 2 + tick -> plan 2 00 10
			15ms planned 1     ->
		` + rest2},
		{"while installing", replan, begin + `
			13ms planned 1     -> install 1
			14ms down 10       ->
			15ms tick          -> plan 2 00 10
			16ms installed 1   -> aid 2 00 10
			17ms aided 2       ->
		` + rest2},
		{"while installing, which fails", replan, begin + `
			13ms planned 1     -> install 1
			14ms down 10       ->
			15ms tick          -> plan 2 00 10
			16ms installed 1 fails -> aid 2 00 10
			17ms aided 2       ->
		` + rest2},
		{"during an update: the next waits for the switch, all else does not", replan, begin + `
			13ms planned 1     -> install 1
			14ms installed 1   -> update 1
			15ms down 10       -> aid 2 00 10
			16ms aided 2 + tick -> plan 2 00 10
			17ms planned 2     -> install 2
			18ms installed 2   ->
			19ms updated 1     ->
			30ms switched 1    -> update 2
			31ms updated 2     ->
			42ms switched 2    -> clean 2
		`},
		{"during an update that fails", replan, begin + `
			13ms planned 1     -> install 1
			14ms installed 1   -> update 1
			15ms down 10       -> aid 2 00 10
			16ms aided 2 + tick -> plan 2 00 10
			17ms planned 2     -> install 2
			18ms installed 2   ->
			19ms updated 1 fails -> update 2
			20ms updated 2     ->
		`},
		{"while old routes go", replan, down00 + `
			40ms up 00         ->
			41ms tick          -> plan 2 -
			42ms planned 2     -> install 2
			43ms installed 2   -> update 2
			44ms updated 2     ->
			45ms switched 2    -> clean 2
			46ms down 10       ->
			47ms tick          -> plan 3 10
			48ms cleaned 2     -> aid 3 10
			49ms planned 3     ->
			50ms aided 3       -> install 3
		`},
	})
}

func TestComesBackInBetween(t *testing.T) {
	const begin = `
		10ms down 00       -> aid 1 00
		11ms tick          -> plan 1 00
		12ms aided 1       ->
	`
	playAll(t, []scripted{
		{"before a plan", replan, `
			10ms   down 00     -> aid 1 00
			10.5ms up 00       -> | asleep, busy
			12ms   aided 1     -> clean 2
			13ms   cleaned 2   -> | idle, asleep
		`},
		{"while planning", replan, begin + `
			13ms up 00         -> clean 2
			14ms planned 1     ->
			15ms cleaned 2     -> | idle, asleep
		`},
		{"while installing", replan, begin + `
			13ms planned 1     -> install 1
			14ms up 00         ->
			15ms installed 1   -> clean 2
			16ms cleaned 2     -> | idle, asleep
		`},
		{"during an update, which cannot be taken back", replan, begin + `
			13ms planned 1     -> install 1
			14ms installed 1   -> update 1
			15ms up 00         ->
			16ms tick          -> plan 2 -
			17ms planned 2     -> install 2
			18ms installed 2   ->
			19ms updated 1     ->
			20ms switched 1    -> update 2
			21ms updated 2     ->
			22ms switched 2    -> clean 2
			23ms cleaned 2     -> | idle, asleep
		`},
		{"during an update, which fails", replan, begin + `
			13ms planned 1     -> install 1
			14ms installed 1   -> update 1
			15ms up 00         ->
			16ms tick          -> plan 2 -
			17ms updated 1 fails -> clean 2
			18ms planned 2     ->
			19ms cleaned 2     -> | idle, asleep
		`},
		{"and dies again during the update", replan, begin + `
			13ms planned 1     -> install 1
			14ms installed 1   -> update 1
			15ms up 00         ->
			# routes may have gone with it
			16ms down 00       -> aid 3 00
			17ms aided 3       -> | asleep, busy
			18ms updated 1     ->
			30ms switched 1    -> clean 3
			31ms cleaned 3     -> | idle, asleep
		`},
		{"and dies again during the update, which fails", replan, begin + `
			13ms planned 1     -> install 1
			14ms installed 1   -> update 1
			15ms up 00         ->
			16ms down 00       -> aid 3 00
			17ms aided 3       ->
			18ms updated 1 fails -> plan 3 00
			19ms planned 3     -> install 3
			20ms installed 3   -> update 3
		`},
		{"a smaller dead set, whose plan fails, is not left on the aid of the larger", replan, begin + `
			13ms down 10       -> aid 2 00 10
			14ms aided 2       -> plan 2 00 10
			15ms up 10         ->
			16ms tick          -> plan 3 00
			17ms planned 3 fails  -> | wake 117ms
			117ms tick         -> plan 3 00
			118ms planned 3 fails -> | wake 218ms
			218ms tick         -> plan 3 00
			219ms planned 3 fails -> aid 3 00
			220ms aided 3      -> | idle, asleep
		`},
	})
}

func TestTablesOnly(t *testing.T) {
	playAll(t, []scripted{
		{"a link dies and comes back", tables, `
			10ms down 00 leaf  -> aid 1 00 | busy, asleep
			10ms down 00 spine ->
			12ms aided 1       -> aid 1 00
			13ms aided 1       ->          | idle, asleep
			14ms up 00 spine   -> aid 1 00
			15ms aided 1       ->          | idle, asleep
			16ms up 00 leaf    -> aid 2 -
			17ms aided 2       ->          | idle, asleep
		`},
		{"events were lost", tables, `
			10ms up 00 leaf reread -> aid 0 -
			11ms aided 0           -> | idle, asleep
		`},
		{"aid fails", tables, `
			10ms  down 00       -> aid 1 00
			11ms  aided 1 fails -> | wake 111ms, busy
			111ms tick          -> aid 1 00
			112ms aided 1 fails -> | wake 212ms
			120ms down 10       -> aid 2 00 10
			121ms aided 2 fails -> | wake 221ms
			221ms tick          -> aid 2 00 10
			222ms aided 2 fails ->
			322ms tick          -> aid 2 00 10
			323ms aided 2 fails -> | idle, asleep
			400ms up 10         -> aid 3 00
			401ms aided 3       -> | idle, asleep
		`},
	})
}

func TestPolicyNone(t *testing.T) {
	playAll(t, []scripted{
		{"the original routes come back with the last link", nothing, `
			10ms down 00       ->         | idle, asleep
			20ms down 10       ->         | idle, asleep
			30ms up 00         ->         | idle, asleep
			40ms up 10 leaf    ->         | idle, asleep
			41ms up 10 spine   -> clean 4 | busy, asleep
			42ms cleaned 4     ->         | idle, asleep
			50ms down 00 leaf reread -> | idle, asleep
			51ms up 00 leaf reread   -> clean 6
			52ms cleaned 6     ->         | idle, asleep
		`},
		{"the link dies while they are restored", nothing, `
			10ms down 00       ->
			11ms up 00         -> clean 2
			12ms down 00       ->
			13ms up 00         ->
			14ms cleaned 2     -> clean 4
			15ms cleaned 4     -> | idle, asleep
		`},
	})
}

func TestRereadEnds(t *testing.T) {
	playAll(t, []scripted{
		{"all was well", replan, `
			10ms up 00 leaf reread -> clean 0
			11ms cleaned 0         -> | idle
		`},
		{"the plan in use fits", replan, down00 + `
			40ms down 00 leaf reread -> clean 1
			41ms cleaned 1           -> | idle
		`},
		{"on first aid", replan, `
			10ms down 00       -> aid 1 00
			12ms aided 1       -> plan 1 00
			13ms down 00 leaf reread + up 10 spine reread -> aid 1 00
			14ms planned 1     ->
			15ms aided 1       -> install 1
		`},
		{"while the routes of the old plan are needed", replan, `
			10ms down 00       -> aid 1 00
			12ms aided 1       -> plan 1 00
			14ms planned 1     -> install 1
			15ms installed 1   -> update 1
			16ms updated 1     ->
			17ms down 00 leaf reread -> install 1
			18ms installed 1 fails   -> aid 1 00
			19ms aided 1       -> | busy, asleep
			20ms switched 1    -> clean 1
		`},
	})
}

func TestRecordOfAChange(t *testing.T) {
	m := play(t, replan(t), down00)
	want := Record{
		ID: 1, Down: m.Records()[0].Dead, Dead: m.Records()[0].Dead,
		Seen: 10 * ms, Aided: 12 * ms, Planned: 14*ms + ms/2, Verified: 15 * ms, Installed: 18 * ms, Updated: 19 * ms,
		Switch: Switch{From: 100, LastOld: 28 * ms, FirstNew: 29 * ms}, Cleaned: 33 * ms,
		Source: Computed, Phases: 7, Hash: "h1", AidRoutes: 3, InstallRoutes: 5, Attempts: 1, Done: true,
	}
	got := m.Records()[0]
	expect.True(t, equal(got, want) && short(got.Dead) == "00", "got  %+v\nwant %+v", got, want)
}

func equal(a, b Record) bool {
	same := slices.Equal(a.Down, b.Down) && slices.Equal(a.Up, b.Up) && slices.Equal(a.Dead, b.Dead) && slices.Equal(a.Held, b.Held)
	return same && recordText(a) == recordText(b)
}

// Superseded is what was not in use when the next change came, and was still to come.
func TestSuperseded(t *testing.T) {
	tests := []struct {
		scripted
		want []bool
	}{
		{scripted{"before a plan, during an update, between plan and update", replan, `
			10ms down 00       -> aid 1 00
			11ms aided 1       -> plan 1 00
			12ms down 10       -> aid 2 00 10
			13ms aided 2       -> plan 2 00 10
			14ms planned 2     -> install 2
			15ms installed 2   -> update 2
			16ms up 10         ->
			17ms updated 2     -> plan 3 00
			18ms switched 2    ->
			19ms down 10       -> clean 4
			21ms cleaned 4     -> | idle
		`}, []bool{true, false, true, false}},
		{scripted{"an update that fails is not in use", replan, `
			10ms down 00       -> aid 1 00
			11ms aided 1       -> plan 1 00
			12ms planned 1     -> install 1
			13ms installed 1   -> update 1
			14ms up 00         ->
			15ms tick          -> plan 2 -
			16ms updated 1 fails -> clean 2
			17ms planned 2     ->
			18ms cleaned 2     -> | idle
		`}, []bool{true, false}},
		{scripted{"the tables are in use", tables, `
			10ms down 00       -> aid 1 00
			11ms aided 1       ->
			12ms down 10       -> aid 2 00 10
			13ms up 10         ->
			14ms aided 2       -> aid 3 00
			15ms aided 3       -> | idle
		`}, []bool{false, true, false}},
		{scripted{"waiting is a record that has ended", waiting, `
			10ms down 00 + down 11 -> aid 1 00 11
			11ms aided 1       -> | idle
			12ms up 00         -> aid 2 11
			13ms aided 2       -> plan 2 11
			14ms up 11         -> clean 3
			15ms cleaned 3     -> | idle
		`}, []bool{false, true, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, r := range play(t, tt.options(t), tt.script).Records() {
				expect.True(t, r.Superseded == tt.want[i] && r.Done, "superseded %t, want %t: %+v", r.Superseded, tt.want[i], r)
			}
		})
	}
}

// A plan that is no longer wanted when it comes is not part of the record.
func TestPlanThatIsNotNeeded(t *testing.T) {
	m := play(t, replan(t), `
		10ms down 00       -> aid 1 00
		11ms aided 1       -> plan 1 00
		12ms planned 1     -> install 1
		13ms installed 1   -> update 1
		14ms up 00         ->
		15ms tick          -> plan 2 -
		16ms updated 1 fails -> clean 2
		17ms planned 2 fails ->
		18ms cleaned 2     -> | idle, asleep
	`)
	r := m.Records()[1]
	expect.True(t, r.Planned == 0 && r.Source == "" && r.Err == "" && r.Cleaned == 18*ms, "record %+v", r)
}
