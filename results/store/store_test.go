package store_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evbench/builder/load"
	"evbench/results"
	"evbench/results/store"
	"evbench/testing/disktest"
	"evbench/testing/expect"
)

func ptr(x float64) *float64 { return &x }

// whole is a run with records in all tables: a name that CSV must quote, the largest numbers, and of
// its fail-overs one that went through and one that was overtaken before anything was in place.
func whole() *results.Run {
	const name = `FORS, "one" link`
	return &results.Run{
		Manifest: results.Manifest{Schema: results.ManifestSchema, Name: "x", Seed: 1<<64 - 1, Complete: true},
		Samples: []results.Sample{{
			Case: name, Repeat: 2, TSec: 1.000125, IntervalSec: 0.999875, Server: 17, Events: 3, EventBytes: 9_305_745, PayloadBytes: 27_917_235,
			GoodputBitPerSec: 223_365_801, BarrierWaitSec: 0.012, Late: 1, Duplicate: 2, Corrupt: 4, Retransmits: 5,
		}, {Case: "b"}},
		Links: []results.LinkCount{
			{Case: "a", Link: "leaf0-spine3", Direction: "up", Bytes: 100, Packets: 3, Drops: 1, PlannedBytes: 98, Planned: true},
			{Case: "a", Repeat: 1, Link: "server3-leaf0", Direction: "down", Bytes: 1 << 63},
		},
		Pairs: []results.PairCount{{Case: "a, b", Repeat: 1, Src: 3, Dst: 17, Bytes: 1 << 63, Sec: 1.000000001, Resent: 28, Messages: 7, LongestSec: 0.5, LongestAtSec: 2, SoonestSec: 0.25, BucketSec: 0.5, Course: "98 - 204"}, {Case: "a, b", Repeat: 1, Src: 17, Dst: 3}},
		Servers: []results.ServerCount{{Case: "a, b", Server: 9, BarrierWaitSec: 0.25, Stops: 3, StoodSec: 6, LongestStopSec: 2, FirstStopSec: 12.4,
			RunDelaySec: 0.125, PressureSec: 0.5, MemorySec: 0.0625, Counters: results.Counters{Errors: 4}}},
		Exchanges: []results.ExchangeTime{{Case: "a, b", Repeat: 1, Exchanges: 4, DurationSec: 2.000000001}, {Case: "a, b", Repeat: 1, Exchange: 4, Exchanges: 1, DurationSec: 0.5}},
		Plans:     map[string][]byte{"FORS": []byte("a plan\n"), "../up & down/2": []byte("another\n")},
		Summary: results.Summary{Schema: results.SummarySchema, Name: "x", Complete: true, Cases: []results.Case{{Name: "healthy", Offered: &results.Offered{
			Load: "80 %, poisson", RatePerSec: 2500.5, Share: .8, Offered: 1 << 63, Complete: 7, Incomplete: 2, Refused: 3, Growth: .125, Filling: true, DeadSec: .5, DeadTimes: 1, LongestSec: .25,
			Latency: load.Quantiles{P50: .001, P99: .002, P999: .003, Max: 3600}, Parts: load.PartTimes{Wire: load.Part{Mean: .125}}, ClockErrorSec: .000001,
		}}, {Name: name, Repeat: 1, Failover: "fors", Failovers: []results.Failover{
			{
				ID: 1, Down: []string{"leaf0-spine0", "leaf1-spine0"}, Dead: []string{"leaf0-spine0", "leaf1-spine0"},
				FailoverTimes: results.FailoverTimes{SetSec: ptr(-0.5), SeenSec: ptr(5.000125), AidedSec: ptr(5.001), PlannedSec: ptr(5.003), VerifiedSec: ptr(5.004), InstalledSec: ptr(5.007),
					UpdatedSec: ptr(5.009), LastOldSec: ptr(5.3), FirstNewSec: ptr(5.7), CleanedSec: ptr(5.71)},
				Source: "computed", Phases: 16, PlanHash: "sha256:0", From: 17, Routes: 42, Attempts: 1,
				BeforeEventsPerSec: ptr(53.25), DuringEventsPerSec: ptr(0), AfterEventsPerSec: ptr(50),
			},
			{ID: 2, Up: []string{"leaf0-spine0"}, Dead: []string{"leaf1-spine0"}, Held: []string{"leaf0-spine0"}, Superseded: true, Reason: "another, \"later\" one"},
		}}}},
	}
}

var spans = []results.Span{
	{Case: "a", Server: 3, What: results.SpanBarrier, BeginSec: 0.1, EndSec: 0.2, Exchange: 7, Phase: 2, Peer: -1, Spine: -1},
	{Case: "a", Repeat: 1, Server: 3, What: results.SpanTokens, BeginSec: 0.1, EndSec: 0.200000001, Exchange: 7, Phase: -1, Peer: 4},
}

// files are those of whole and spans. The columns are a contract with people's scripts.
var files = map[string]string{
	"samples.csv": "case,repeat,t_s,interval_s,server,events,event_size_byte,payload_byte,goodput_bit_per_s,barrier_wait_s,late,duplicate,corrupt,retransmits\n" +
		`"FORS, ""one"" link",2,1.000125,0.999875,17,3,9305745,27917235,223365801,0.012000,1,2,4,5` + "\n" +
		"b,0,0.000000,0.000000,0,0,0,0,0,0.000000,0,0,0,0\n",
	"links.csv": "case,repeat,link,direction,bytes,packets,drops,planned_bytes\n" +
		"a,0,leaf0-spine3,up,100,3,1,98\n" +
		"a,1,server3-leaf0,down,9223372036854775808,0,0,\n",
	"pairs.csv": "case,repeat,src,dst,bytes,seconds,resent,messages,longest_s,longest_at_s,soonest_s,bucket_s,course\n\"a, b\",1,3,17,9223372036854775808,1.000000001,28,7,0.500000000,2.000000,0.250000000,0.500000,98 - 204\n\"a, b\",1,17,3,0,0.000000000,0,0,0.000000000,0.000000,0.000000000,0.000000,\n",
	"servers.csv": "case,repeat,server,barrier_wait_s,stops,stood_s,longest_stop_s,first_stop_s,run_delay_s,cpu_pressure_s,memory_pressure_s,adapter_errors,xmit_wait,pauses_sent,pauses_received,ecn_marks,discards\n" +
		"\"a, b\",0,9,0.250000,3,6.000000,2.000000,12.400000,0.125000,0.500000,0.062500,4,0,0,0,0,0\n",
	"exchanges.csv": "case,repeat,exchange,exchanges,duration_s\n\"a, b\",1,0,4,2.000000001\n\"a, b\",1,4,1,0.500000000\n",
	"trace.csv": "case,repeat,server,what,begin_s,end_s,exchange,phase,peer,spine\n" +
		"a,0,3,barrier,0.100000000,0.200000000,7,2,,\n" +
		"a,1,3,tokens,0.100000000,0.200000001,7,,4,0\n",
	"loads.csv": "case,repeat,load,rate_per_s,share,offered,complete,incomplete,refused,growth,filling,dead_time_s,dead_times,longest_dead_time_s," +
		"latency_s_p50,latency_s_p99,latency_s_p999,latency_s_max,wait_s_p50,wait_s_p99,wait_s_p999,wait_s_max,parts_s_buffer_mean,parts_s_buffer_p50,parts_s_buffer_p99,parts_s_buffer_p999,parts_s_buffer_max,parts_s_order_mean,parts_s_order_p50,parts_s_order_p99,parts_s_order_p999,parts_s_order_max,parts_s_wire_mean,parts_s_wire_p50,parts_s_wire_p99,parts_s_wire_p999,parts_s_wire_max,parts_s_builder_mean,parts_s_builder_p50,parts_s_builder_p99,parts_s_builder_p999,parts_s_builder_max,clock_error_s\n" +
		"healthy,0,\"80 %, poisson\",2500.500000,0.800000,9223372036854775808,7,2,3,0.125000,true,0.500000,1,0.250000," +
		"0.001000,0.002000,0.003000,3600.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.125000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000001\n",
	"failovers.csv": `case,repeat,id,down,up,dead,held,set_s,seen_s,aided_s,planned_s,verified_s,installed_s,updated_s,last_old_s,first_new_s,cleaned_s,source,phases,plan_hash,from_exchange,routes_changed,attempts,superseded,reason,before_events_per_s,during_events_per_s,after_events_per_s
"FORS, ""one"" link",1,1,leaf0-spine0 leaf1-spine0,,leaf0-spine0 leaf1-spine0,,-0.500000,5.000125,5.001000,5.003000,5.004000,5.007000,5.009000,5.300000,5.700000,5.710000,computed,16,sha256:0,17,42,1,false,,53.250000,0.000000,50.000000
"FORS, ""one"" link",1,2,,leaf0-spine0,leaf1-spine0,leaf0-spine0,,,,,,,,,,,,0,,0,0,0,true,"another, ""later"" one",,,
`,
}

func save(t testing.TB, run *results.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results", "run")
	expect.Must(t, store.Save(dir, run))
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	expect.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func fails(t *testing.T, what string, err error, want string) {
	t.Helper()
	expect.Error(t, err, want)
}

// What is written is read again, in files that are a contract.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := store.Create(dir)
	expect.Must(t, err)
	want := whole()
	early := []results.Record{results.Manifest{Name: "earlier"}, results.Summary{Name: "earlier"}, spans[0], spans[1]}
	for _, r := range early {
		err = errors.Join(err, w.Write(r))
	}
	for r := range want.Records() {
		err = errors.Join(err, w.Write(r))
	}
	expect.Must(t, errors.Join(err, w.Close()))
	got := expect.Value(store.Read(dir))(t)
	for i := range want.Summary.Cases[1].Failovers {
		want.Summary.Cases[1].Failovers[i].Case = ""
	}
	for _, part := range [][2]any{
		{got.Samples, want.Samples}, {got.Links, want.Links}, {got.Pairs, want.Pairs}, {got.Servers, want.Servers}, {got.Exchanges, want.Exchanges}, {got.Plans, want.Plans},
		{got.Summary.Failovers(), want.Summary.Failovers()}, {got.Summary.Loads(), want.Summary.Loads()}, {got.Manifest.Seed, want.Manifest.Seed}, {got.Summary.Name, want.Summary.Name},
	} {
		expect.Equal(t, part[0], part[1], "read")
	}
	var read []results.Span
	if err := store.ReadTrace(dir, func(s results.Span) { read = append(read, s) }); err != nil || !reflect.DeepEqual(read, spans) {
		t.Errorf("spans %+v, %v", read, err)
	}
	for name, want := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		expect.True(t, err == nil && string(text) == want, "%s, %v:\n%s\nwant\n%s", name, err, text, want)
	}
}

// Files that nobody needs are not made.
func TestFewFiles(t *testing.T) {
	run := whole()
	run.Pairs, run.Servers, run.Exchanges, run.Plans, run.Summary.Cases = nil, nil, nil, nil, []results.Case{{}}
	dir := save(t, run)
	entries, err := os.ReadDir(dir)
	expect.True(t, err == nil && len(entries) == 4, "%d files, %v; want the four and nothing left over", len(entries), err)
	got, err := store.Read(dir)
	expect.True(t, err == nil && got.Pairs == nil && got.Exchanges == nil && len(got.Plans) == 0, "%+v, %v", got, err)
	expect.Is(t, store.ReadTrace(dir, nil), fs.ErrNotExist)
}

func TestNeverOverwrites(t *testing.T) {
	dir := save(t, whole())
	if _, err := store.Create(dir); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("error %v", err)
	}
	expect.Is(t, store.Save(dir, whole()), fs.ErrExist)
	expect.OK(t, expect.Err(store.Read(dir)), "the first run is damaged")
	put(t, dir, "file", "")
	expect.True(t, expect.Err(store.Create(filepath.Join(dir, "file", "run"))) != nil, "a directory was made inside a file")
}

// What was measured before an interruption can be read: lines are on disk after
// each manifest and summary.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := expect.Value(store.Create(dir))(t)
	expect.Must(t, errors.Join(w.Write(whole().Samples[0]), w.Write(results.Manifest{Name: "x"})))
	got, notes, err := store.Format{}.ReadAny(dir)
	expect.True(t, err == nil && reflect.DeepEqual(got.Samples, whole().Samples[:1]) && len(notes) == 1, "%+v, %q, %v", got, notes, err)
	if _, err := store.Read(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "holds no summary.json, but a manifest.json: the run is not complete, it was killed or is still going") {
		t.Errorf("error %v", err)
	}
	expect.OK(t, w.Close())
}

// Each file is held to its columns where it is there. The error names file, line and column.
func TestReadRefuses(t *testing.T) {
	head := func(name string) string { line, _, _ := strings.Cut(files[name], "\n"); return line + "\n" }
	samples, pairs, exchanges := head("samples.csv"), head("pairs.csv"), head("exchanges.csv")
	const failovers = "failovers.csv"
	for _, tt := range []struct{ file, text, want string }{
		{"samples.csv", "", "empty; the first line names the columns"},
		{"samples.csv", strings.Replace(samples, "t_s", "t_ms", 1), `line 1: no column "t_s"`},
		{"samples.csv", "case,repeat\n", `line 1: no column "t_s"`},
		{"samples.csv", strings.Replace(samples, "late", "", 1), "line 1: column 11 has no name"},
		{"samples.csv", strings.Replace(samples, "late", "corrupt", 1), `line 1: two columns "corrupt"`},
		{"samples.csv", samples + "a,0,1.0,1.0,3,1\na,0,1,1,0,0,0,0,0,0,0,0,0,0\n", "record on line 2: wrong number of fields"},
		{"samples.csv", samples + "a,0,1.0,1.0,3,1", "line 2 has no end: the file was cut off there"},
		{"samples.csv", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,", "line 2 has no end"},
		{"samples.csv", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,12", "line 2 has no end"},
		{"samples.csv", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,0\n\"b", "line 3 has no end"},
		{"samples.csv", samples[:len(samples)-1], "line 1 has no end"},
		{"samples.csv", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,0\na,0,1,1,0,x,0,0,0,0,0,0,0,0\n", `line 3: events: "x" is not a number that fits`},
		{"samples.csv", samples + "a,-1,1,1,0,0,0,0,0,0,0,0,0,0\n", `repeat: "-1"`},
		{"samples.csv", samples + "a,0,NaN,1,0,0,0,0,0,0,0,0,0,0\n", `t_s: "NaN"`},
		{"samples.csv", samples + "a,0,1,1,0,99999999999999999999,0,0,0,0,0,0,0\n", "wrong number of fields"},
		{"samples.csv", samples + "a,0,1,1,0,99999999999999999999,0,0,0,0,0,0,0,0\n", "events:"},
		{"samples.csv", samples + strings.Repeat("\x00", 2<<20), "a line of more than 1048576 bytes"},
		{"samples.csv", strings.Repeat("\x00", 1<<20+1), "a line of more than 1048576 bytes"},
		{"links.csv", head("links.csv") + "a,0,l,up,1,1,1,x\n", "line 2: planned_bytes"},
		{"links.csv", "x", "links.csv: "},
		{"pairs.csv", pairs + "a,0,3,17,1000\n", "record on line 2: wrong number of fields"},
		{"pairs.csv", pairs + "a,0,3,x,1000,0.5,0,1,0.5,0,0,0,\n", `line 2: dst: "x" is not a number that fits`},
		{"pairs.csv", strings.Replace(pairs, "src", "from", 1), `line 1: no column "src"`},
		{"exchanges.csv", exchanges + "a,0,0,1\n", "record on line 2: wrong number of fields"},
		{"exchanges.csv", exchanges + "a,0,-1,1,0.5\n", `line 2: exchange: "-1" is not a number that fits`},
		{"exchanges.csv", exchanges + "a,0,0,1,0.5\na,0,1,1,NaN\n", `line 3: duration_s: "NaN" is not a number that fits`},
		{"exchanges.csv", exchanges + "a,0,0,1,0.5", "line 2 has no end: the file was cut off there"},
		{failovers, strings.Replace(files[failovers], "5.009000", "5.019000", 1), "line 2: row 1 is not what summary.json says"},
		{failovers, strings.Replace(files[failovers], ",true,", ",maybe,", 1), "line 3: row 2 is not what summary.json says"},
		{failovers, strings.Replace(files[failovers], "one\",,,\n", "one\",,", 1), "was cut off there"},
		{"loads.csv", strings.Replace(files["loads.csv"], ",7,2,3,", ",7,1,4,", 1), "loads.csv: line 2: row 1 is not what summary.json says"},
		{failovers, head(failovers), "row 1 is not what summary.json says"},
		{failovers, files[failovers] + files[failovers], "row 3 is not what summary.json says"},
	} {
		dir := save(t, whole())
		put(t, dir, tt.file, tt.text)
		_, err := store.Read(dir)
		fails(t, tt.file, err, tt.file+": ")
		fails(t, tt.file, err, tt.want)
	}
	dir := save(t, whole())
	for _, name := range []string{failovers, "loads.csv"} {
		expect.Must(t, os.Remove(filepath.Join(dir, name)))
		expect.OK(t, expect.Err(store.Read(dir)), "without %s", name)
	}
	put(t, dir, "trace.csv", head("trace.csv")+"a,0,3,rest,0.1,0.2,7,,,\n")
	fails(t, "a span", store.ReadTrace(dir, func(results.Span) {}), `trace.csv: line 2: what: "rest" is none of [exchange send`)
	if _, err := store.Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "it is not a directory of results") {
		t.Errorf("an empty directory: error %v", err)
	}
}

// An older version's file lacks a column, a newer one's has others, in any place. Both are read, for
// people, too, and what is written again has the columns that were read.
func TestOtherColumns(t *testing.T) {
	dir := save(t, whole())
	drops := map[string]string{"samples.csv": "late", "links.csv": "planned_bytes", "pairs.csv": "resent", "exchanges.csv": "repeat", "failovers.csv": "phases", "loads.csv": "share"}
	for name, drop := range drops {
		put(t, dir, name, other(t, files[name], drop))
	}
	got := expect.Value(store.Read(dir))(t)
	want := whole()
	want.Samples[0].Late, want.Links[0].PlannedBytes, want.Links[0].Planned, want.Pairs[0].Resent = 0, 0, false, 0
	for i := range want.Exchanges {
		want.Exchanges[i].Repeat = 0
	}
	for _, part := range [][2]any{{got.Samples, want.Samples}, {got.Links, want.Links}, {got.Pairs, want.Pairs}, {got.Exchanges, want.Exchanges}} {
		expect.Equal(t, part[0], part[1], "read")
	}
	again := save(t, got)
	for name, drop := range drops {
		text := expect.Value(os.ReadFile(filepath.Join(again, name)))(t)
		expect.Equal(t, string(text), other(t, files[name], drop), "%s", name)
	}
	put(t, dir, "trace.csv", other(t, files["trace.csv"], "peer"))
	var read []results.Span
	expect.Must(t, store.ReadTrace(dir, func(s results.Span) { read = append(read, s) }))
	expect.True(t, len(read) == 2 && read[0] == spans[0] && read[1].Peer == -1 && read[1].Spine == spans[1].Spine, "spans %+v", read)
}

// other is the text of a table without one of its columns, and with two more.
func other(t *testing.T, text, drop string) string {
	t.Helper()
	lines := expect.Value(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	at := slices.Index(lines[0], drop)
	expect.MustTrue(t, at >= 0, "no column %s", drop)
	var out strings.Builder
	w := csv.NewWriter(&out)
	for i, line := range lines {
		line = append([]string{fmt.Sprint("first, ", i)}, slices.Delete(line, at, at+1)...)
		expect.Must(t, w.Write(append(line, fmt.Sprint("last ", i))))
	}
	w.Flush()
	return out.String()
}

// What lacks a column is shown, with a note.
func TestLoadOtherColumns(t *testing.T) {
	run := whole()
	run.Plans, run.Summary.Cases = nil, []results.Case{{Name: "a"}}
	run.Samples, run.Links, run.Pairs, run.Exchanges = []results.Sample{{Case: "a", Retransmits: 7}}, nil, nil, nil
	dir := save(t, run)
	text := expect.Value(os.ReadFile(filepath.Join(dir, "samples.csv")))(t)
	put(t, dir, "samples.csv", other(t, string(text), "retransmits"))
	got := expect.Value(store.Format{}.Load(dir))(t)
	expect.Equal(t, got.Notes, []string{dir + ": /samples has no column retransmits, which counts as 0."}, "notes")
}

// Members that this version does not know stay in documents, at any depth, and absent ones are empty.
func TestOtherMembers(t *testing.T) {
	dir := save(t, whole())
	for name, change := range map[string]func(string) string{
		store.SummaryFile: strings.NewReplacer(`"name": "healthy"`, `"new": {"a": [1e400, "\u001b"]}, "name": "healthy"`, `"seen_s": 5.000125`, `"seen_s": 5.000125, "newer": null`,
			`  "name": "x"`, `  "name": "x", "newest": 12345678901234567890`, `"mode": "",`, "").Replace,
		store.ManifestFile: strings.NewReplacer(`"kind": ""`, `"kind": "", "new": true`, `"cores": 0,`, "").Replace,
	} {
		text := expect.Value(os.ReadFile(filepath.Join(dir, name)))(t)
		changed := change(string(text))
		expect.True(t, changed != string(text), "%s: not changed", name)
		put(t, dir, name, changed)
	}
	again := save(t, expect.Value(store.Read(dir))(t))
	for name, want := range map[string][]string{
		store.SummaryFile:  {`1e400`, `"\u001b"`, `"newer": null`, `"newest": 12345678901234567890`, `"mode": ""`},
		store.ManifestFile: {`"new": true`, `"cores": 0`},
	} {
		text := string(expect.Value(os.ReadFile(filepath.Join(again, name)))(t))
		for _, want := range want {
			expect.True(t, strings.Contains(text, want), "%s: no %s in\n%s", name, want, text)
		}
	}
	expect.Equal(t, expect.Value(store.Read(again))(t), expect.Value(store.Read(dir))(t), "read again")
}

// A file that cannot be made is named, then and in the end.
func TestFileFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := expect.Value(store.Create(dir))(t)
	expect.Must(t, os.Mkdir(filepath.Join(dir, "pairs.csv"), 0o700))
	for range 2 {
		fails(t, "Write", w.Write(results.PairCount{}), "pairs.csv")
	}
	fails(t, "Close", w.Close(), "pairs.csv")
}

// What a killed run leaves is read, but for a line that was being written.
func TestReadKilled(t *testing.T) {
	run := whole()
	run.Summary, run.Samples = results.Summary{}, []results.Sample{run.Samples[0], run.Samples[0]}
	dir := save(t, run)
	text, err := os.ReadFile(filepath.Join(dir, "samples.csv"))
	expect.Must(t, err)
	for _, tt := range []struct{ cut, samples, notes int }{{0, 2, 1}, {10, 1, 2}} {
		put(t, dir, "samples.csv", string(text[:len(text)-tt.cut]))
		run, notes, err := store.Format{}.ReadAny(dir)
		expect.False(t, err != nil || len(run.Samples) != tt.samples || len(notes) != tt.notes || run.Summary.Complete || len(run.Summary.Cases) != 1 || len(run.Plans) != 2,
			"cut by %d: %+v, notes %q, %v", tt.cut, run, notes, err)
	}
	put(t, dir, "samples.csv", "case\n")
	_, _, err = store.Format{}.ReadAny(dir)
	fails(t, "no samples", err, "samples.csv: ")
	expect.Is(t, expect.Err2(store.Format{}.ReadAny(t.TempDir())), fs.ErrNotExist)
}

// For people, what contradicts itself is refused, and what a killed run has left is taken.
func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*results.Run)
		want  string // of the error
		notes int
	}{
		{"whole", func(*results.Run) {}, "", 0},
		{"no samples", func(r *results.Run) { r.Samples = nil }, `no line of case "one"`, 0},
		{"samples of another case", func(r *results.Run) { r.Samples[1].Case = "two" }, `line 3: case "two"`, 0},
		{"no plan", func(r *results.Run) { r.Plans = map[string][]byte{"one": nil} }, `plan of case "one"`, 0},
		{"killed", func(r *results.Run) { r.Summary = results.Summary{} }, "", 1},
	} {
		s := results.Sample{Case: "one", TSec: 1, IntervalSec: 1, Events: 7, EventBytes: 100, PayloadBytes: 700}
		r := &results.Run{
			Manifest: results.Manifest{Name: "small", Predictions: []results.Prediction{{Case: "one"}}}, Samples: []results.Sample{s, s},
			Summary: results.Summary{Schema: results.SummarySchema, Complete: true, Cases: []results.Case{{Name: "one", Complete: true, Valid: true, Counts: results.Counts{Exchanges: 7}}}},
		}
		tt.spoil(r)
		got, err := store.Format{}.Load(save(t, r))
		if tt.want != "" {
			fails(t, tt.name, err, tt.want)
		} else if err != nil || len(got.Notes) != tt.notes || got.Run == nil {
			t.Errorf("%s: %v: %+v", tt.name, err, got)
		}
	}
}

// BenchmarkWrite is what a sample costs in the files of a run, HDF5 included where it is built in.
func BenchmarkWrite(b *testing.B) {
	w, err := store.Create(filepath.Join(b.TempDir(), "run"))
	expect.Must(b, err)
	run := whole()
	expect.Must(b, errors.Join(w.Write(run.Manifest), w.Write(run.Summary)))
	s := run.Samples[0]
	for n := range b.N {
		s.TSec, s.GoodputBitPerSec = float64(n)/64+0.001, s.GoodputBitPerSec+0.25
		err = errors.Join(err, w.Write(s))
	}
	expect.Must(b, errors.Join(err, w.Close()))
}

// Whichever call fails, Save names the file and leaves nothing, and a run that is being written can be read as far as it came.
func TestEachCallFails(t *testing.T) {
	dir := ""
	disktest.Each(t, func() error {
		dir = filepath.Join(t.TempDir(), "run")
		return store.Save(dir, whole())
	}, func(call string, err error) {
		expect.Error(t, err, dir)
		expect.False(t, store.Present(dir), "%s: %v, and the directory is there", call, err)
	})
	disktest.Each(t, func() error {
		dir = filepath.Join(t.TempDir(), "run")
		w, err := store.Create(dir)
		if err != nil {
			return err
		}
		for r := range whole().Records() {
			err = errors.Join(err, w.Write(r))
		}
		return errors.Join(err, w.Close())
	}, func(call string, err error) {
		expect.Error(t, err, dir)
		run, _, readErr := store.Format{}.ReadAny(dir)
		expect.True(t, readErr == nil && run.Manifest.Name == whole().Manifest.Name || !store.Present(filepath.Join(dir, store.ManifestFile)), "%s: %v; read %v", call, err, readErr)
	})
}
