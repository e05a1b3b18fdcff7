package policy_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"evbench/failover"
	"evbench/results"
	"evbench/study/policy"
	"evbench/testing/expect"
	"evbench/topology"
)

// TestMeasuredTimes takes medians of what a run has, and keeps what is stated elsewhere.
func TestMeasuredTimes(t *testing.T) {
	t.Parallel()
	at := func(s float64) *float64 { return &s }
	change := func(aid float64) results.Failover {
		return results.Failover{
			FailoverTimes: results.FailoverTimes{SetSec: at(1), SeenSec: at(1.001), AidedSec: at(1.001 + aid), PlannedSec: at(1.021), VerifiedSec: at(1.022), InstalledSec: at(1.03)},
		}
	}
	superseded := change(9)
	superseded.Superseded = true
	run := &results.Run{Summary: results.Summary{Cases: []results.Case{
		{Failovers: []results.Failover{change(0.003), superseded}}, {Failovers: []results.Failover{change(0.5), change(0.004), {}}},
	}}}
	times := policy.Stated()
	expect.Equal(t, times.Measured(run), 3, "changes")
	for _, x := range []struct {
		name      string
		got, want time.Duration
	}{
		{"seen", times.Seen, time.Millisecond}, {"aid", times.Aid, 4 * time.Millisecond}, {"plan", times.Plan, 20 * time.Millisecond},
		{"debounce", times.Debounce, 0}, {"install", times.Install, 8 * time.Millisecond}, {"update", times.Update, policy.Stated().Update},
	} {
		d := x.got - x.want
		expect.True(t, d >= -time.Microsecond && d <= time.Microsecond, "%s: %s, want %s", x.name, x.got, x.want)
	}
	expect.Equal(t, times.Measured(&results.Run{}), 0, "changes in an empty run")
}

// TestTextWidth: however large the amounts, no line is wider than 120 columns.
func TestTextWidth(t *testing.T) {
	t.Parallel()
	tree := expect.Value(topology.New(topology.Options{Ports: 20, Leaves: 18}))(t)
	times := policy.Thesis()
	times.Exchange = 1718 * time.Millisecond
	r := policy.Report{
		Log:     policy.Log{From: time.Unix(1.7e9, 0), Span: 900 * 24 * time.Hour, Failures: 123_456, Skipped: 12_345},
		Setting: &policy.Setting{Tree: tree, BitPerSec: 200e9, Fragment: 35_677_500, Servers: 326}, Times: times, Source: "here", Hold: time.Hour,
		OneLink: &policy.OneLink{Link: "leaf17-spine19", Failures: 12_345, DownSec: 1e8},
	}
	for _, p := range failover.Policies() {
		r.Results = append(r.Results, &policy.Result{
			Policy: p, Built: 3.6e9, Lost: 1.2e9, LostReplanned: 1e8, LostFirstAid: 1e9, LostStanding: 1e8, HealthySec: 7e7, ReplannedSec: 7e7,
			FirstAidSec: 7e7, StandingSec: 7e7, Stops: 99_999, Switches: 99_999, UnusedSec: 7e7, UnusedLinks: 360, UnusedTimes: 99_999,
			UnusedLongestSec: 7e7, WorstHour: 9, WorstHourLost: 167_484,
		})
	}
	var out strings.Builder
	expect.Must(t, r.WriteText(&out))
	for line := range strings.Lines(out.String()) {
		n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		expect.True(t, n <= 120, "%d columns: %s", n, line)
	}
	expect.OK(t, expect.Err(r.Setting.Exchange(context.Background())))
}
