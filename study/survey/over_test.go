package survey_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/study/survey"
	"evbench/testing/expect"
)

func overOptions(t *testing.T, name string) (*network.Network, survey.OverOptions) {
	n := expect.Value(network.Parse(name, 0))(t)
	n = expect.Value(n.Numbered(0))(t)
	return n, survey.OverOptions{Name: name, Engine: "sssp", Nodes: network.AllHosts(n).Nodes, K: 1, Good: 0.95}
}

// Without each cable, the bound equals the load of the fullest link, counted message by message.
func TestWhatIfOver(t *testing.T) {
	n, o := overOptions(t, "HyperX(3,3;2)")
	r := expect.Value(survey.WhatIfOver(context.Background(), n, o))(t)
	expect.Equal(t, len(r.Sets), 18, "cables")
	for i, x := range r.Sets {
		expect.MustTrue(t, len(x.Dead) == 1 && x.Reason == "", "%v: %s", x.Dead, x.Reason)
		cut := expect.Value(n.Degrade(x.Dead))(t)
		tables := expect.Value(engines.Compute("sssp", cut, engines.Options{}))(t)
		loads, most := map[network.End]int{}, len(o.Nodes)-1
		for _, from := range o.Nodes {
			for _, to := range o.Nodes {
				if from == to {
					continue
				}
				way, fault := tables.Route(from, int(cut.Info(to).LID))
				expect.MustTrue(t, fault == lft.NoFault, "a message is lost")
				for _, e := range way {
					loads[e]++
					most = max(most, loads[e])
				}
			}
		}
		expect.Equal(t, int(x.Bound), most, "bound without %s", x.Dead[0])
		expect.True(t, x.Order >= x.Bound && x.Linear >= x.Bound, "%+v", x)
		expect.True(t, i == 0 || r.Sets[i-1].Order >= x.Order, "the slowest is not the first")
	}
	expect.Equal(t, r.Answer().Verdict, answer.Good, "verdict")
	var text bytes.Buffer
	expect.OK(t, r.WriteText(&text))
	expect.True(t, strings.Contains(text.String(), "18 of 18 sets done"), "%s", text.String())
}

//gate:race
func TestWhatIfOverLoses(t *testing.T) {
	n, o := overOptions(t, "HyperX(2;2)") // one cable
	r := expect.Value(survey.WhatIfOver(context.Background(), n, o))(t)
	a := r.Answer()
	expect.True(t, a.Verdict == answer.Bad && strings.Contains(a.Sentence, "1 set leaves hosts without a route"), "%s", a.Sentence)
	o.K = 2
	expect.Error(t, expect.Err(survey.WhatIfOver(context.Background(), n, o)), "1 cables between switches, and 2 are to die")
	n, o = overOptions(t, "HyperX(4;2)")
	o.K = 2
	expect.Error(t, expect.Err(survey.WhatIfOver(context.Background(), n, o)), "give --sample N")
	o.Sample, o.Seed = 5, 3
	r = expect.Value(survey.WhatIfOver(context.Background(), n, o))(t)
	expect.Equal(t, len(r.Sets), 5, "sets")
	ended, end := context.WithCancel(context.Background())
	end()
	r = expect.Value(survey.WhatIfOver(ended, n, o))(t)
	expect.True(t, r.Incomplete, "a report that was stopped is complete")
}
