package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evbench/bench"
	"evbench/failover"
	"evbench/model/anyshape"
	"evbench/plan"
	"evbench/scenario"
	"evbench/testing/expect"
)

// A network of hosts whose dump a test writes, and the plans over its tables by two engines.
func dumpedNetwork(t *testing.T) (n *dumped, texts map[string]string, plans map[string]*plan.Plan) {
	s := expect.Value(scenario.Files{Networks: anyshape.Networks()}.Read("x.yaml", strings.NewReader(`
topology: Dragonfly(1;2;1;3)
cases:
  - {name: sssp, schedule: path-coloring, routing: sssp}
  - {name: minhop, schedule: path-coloring, routing: opensm-minhop}
`)))(t)
	texts, plans = map[string]string{}, map[string]*plan.Plan{}
	for _, p := range expect.Value(bench.Prepare(s))(t) {
		var text bytes.Buffer
		expect.OK(t, anyshape.LFT(p.Plan).WriteDump(&text))
		texts[p.Name], plans[p.Name] = text.String(), p.Plan
	}
	expect.MustTrue(t, plans["sssp"] != nil && plans["minhop"] != nil && texts["sssp"] != texts["minhop"], "%v", texts)
	return &dumped{dump: &dump{net: s.Network.(*anyshape.Network), name: "dump", limit: 10 * time.Second}, plan: plans["sssp"]}, texts, plans
}

const hangs = "hangs"

// TestDumped: what a dump shows from second to second, and when the tables count as changed.
func TestDumped(t *testing.T) {
	n, texts, plans := dumpedNetwork(t)
	old, other := texts["sssp"], texts["minhop"]
	half := other[:strings.LastIndex(other, "Unicast lids")]
	like := n.dump
	for name, c := range map[string]struct {
		shows []string // by second; "": the command fails
		fails int      // of the plans that follow
		moved []int    // the second of each event
		said  string
		doubt string
	}{
		"as before":            {shows: []string{old, old, old}},
		"other tables":         {shows: []string{old, other, other, other}, moved: []int{2}},
		"once alone":           {shows: []string{other, old, other, old, old}},
		"dates in it":          {shows: []string{old, "# 1\n" + other, "# 2\n" + other, "# 3\n" + other}, moved: []int{2}},
		"there and back":       {shows: []string{other, other, old, old, other, other}, moved: []int{1, 3, 5}},
		"fails":                {shows: []string{"", "", other, "", other, other}, moved: []int{5}, said: "dump: broken|dump: broken", doubt: "for 6s it was not known"},
		"half a text":          {shows: []string{half, half, half, other, other}, moved: []int{4}, said: "dump: no message is taken"},
		"no text":              {shows: []string{"\n", "\n", old, old}, said: "dump: no forwarding table in it"},
		"other LIDs":           {shows: []string{strings.ReplaceAll(other, "0x0001 ", "0x0fff "), old}, said: "no node of the network has LID 4095"},
		"others at each look":  {shows: []string{old, other, old, other, old, other, old, old}, moved: nil, said: "dump: it shows other tables at each of 5 looks", doubt: "for 7s it was not known"},
		"others to the end":    {shows: []string{old, other, old, other, old, other, old}, said: "at each of 5 looks", doubt: "for 6s it was not known whether the network had the tables of the plan: dump: it shows other tables"},
		"hangs":                {shows: []string{old, hangs, old, old, old, old, old, old, old}, said: "dump: it has not ended for 5s", doubt: "for 8s it was not known"},
		"a plan cannot be had": {shows: []string{other, other, other, other, other}, fails: 1, moved: []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &dumped{dump: like, plan: plans["sssp"]}
				ctx, cancel := context.WithCancel(t.Context())
				said := []string(nil)
				var shown atomic.Value
				shown.Store(old)
				n.say = func(text string) { said = append(said, text) }
				n.command = func(ctx context.Context, _ int) ([]byte, error) {
					switch shown.Load() {
					case "":
						return nil, errors.New("dump: broken")
					case hangs:
						<-ctx.Done()
						return nil, context.Cause(ctx)
					}
					return []byte(shown.Load().(string)), nil
				}
				expect.OK(t, expect.Err(n.Install(ctx, n.plan)))
				events, done := make(chan failover.LinkEvent, 9), make(chan error)
				go func() { done <- n.Watch(ctx, events) }()
				var moved []int
				for second, text := range c.shows {
					shown.Store(text)
					time.Sleep(lookAgain)
					synctest.Wait()
					if len(events) == 0 {
						continue
					}
					expect.True(t, (<-events).Moved, "no event of tables")
					moved = append(moved, second)
					if c.fails--; c.fails >= 0 {
						shown.Store("")
						expect.Error(t, expect.Err(n.Plan(ctx, n.plan.Tree)), "dump: broken")
						shown.Store(text)
						continue
					}
					made := expect.Value(n.Plan(ctx, n.plan.Tree))(t)
					want := plans["sssp"]
					if strings.Contains(text, other) {
						want = plans["minhop"]
					}
					expect.Equal(t, made.Plan.Hash(), want.Hash(), "plan")
					expect.OK(t, expect.Err(n.Install(ctx, made.Plan)))
				}
				cancel()
				<-done
				expect.True(t, strings.Contains(n.Doubt(), c.doubt) && (c.doubt != "" || n.Doubt() == ""), "doubt %q, want %q", n.Doubt(), c.doubt)
				expect.Equal(t, fmt.Sprint(moved), fmt.Sprint(c.moved), "events")
				all := strings.Join(said, "|")
				expect.True(t, strings.Contains(all, c.said) && (c.said != "" || all == "") && strings.Count(all, "|") == strings.Count(c.said, "|"), "said %q, want %q", all, c.said)
			})
		})
	}
}

// TestDumpedLost: tables that lose a message, or that change under a plan, are no reason to end a run; those that
// follow are reported.
func TestDumpedLost(t *testing.T) {
	n, texts, plans := dumpedNetwork(t)
	shown := texts["minhop"]
	n.command = func(context.Context, int) ([]byte, error) { return []byte(shown), nil }
	expect.Error(t, expect.Err(n.Install(t.Context(), plans["sssp"])), "lead another way")
	expect.Equal(t, n.known, "", "known")
	shown = shown[:strings.LastIndex(shown, "Unicast lids")]
	err := expect.Err(n.Plan(t.Context(), n.plan.Tree))
	_, apart := errors.AsType[failover.Disconnected](err)
	expect.True(t, err != nil && !apart && n.known == "", "%v", err)
}
