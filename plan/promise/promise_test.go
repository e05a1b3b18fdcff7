package promise_test

import (
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/plan/promise"
	"evbench/testing/expect"
)

// TestWords: a plan is the shortest only at the least, and one rule says so in the answer, in the line of the bound and of what the judge found.
func TestWords(t *testing.T) {
	for _, x := range []struct {
		kind               promise.Kind
		takes, least       float64
		said, bound, claim string
	}{
		{promise.Any, 31, 31, "GOOD: it: no plan is shorter.", "31: optimal (proven by leaf0)", ", and no plan takes less than its N"},
		{promise.Any, 31.5, 31, "NOT KNOWN: It; no plan takes less than 31, 0.5 less than this one, and whether a shorter one exists is not known.", "31: gap 0.5 above the bound (leaf0)", "; its N are at most 1.6 % above the least"},
		{promise.Any, 100_001, 100_000, "NOT KNOWN: It; no plan takes less than 100,000, 1 less than this one, and whether a shorter one exists is not known.", "100000: gap 1 above the bound (leaf0)", "; its N are at most 0.1 % above the least"},
		{promise.Any, 31, 0, "NOT KNOWN: It; the least is not known.", "not known", ""},
		{promise.Tables, 94, 94, "GOOD: It, the least that these tables allow.", "94: optimal (proven by leaf0)", ", and no order over these tables takes less than its N"},
		{promise.Tables, 36, 35, "GOOD: It, at most 2.9 % above the least that these tables allow.", "35: gap 1 above the bound (leaf0)", "; its N are at most 2.9 % above the least that these tables allow"},
		{promise.Steps, 38, 35, "NOT KNOWN: It; no order over these tables in steps takes less than 35, 3 less than this one, and whether a shorter one exists is not known.", "35: gap 3 above the bound (leaf0)", "; its N are at most 8.6 % above the least that these tables allow in steps"},
		{promise.Bytes, 1040, 1000, "NOT KNOWN: It; no order over these tables takes less than 1,000, 40 less than this one, and whether a shorter one exists is not known.", "1000: gap 40 above the bound (leaf0)", "; its N are at most 4.0 % above the least that these tables allow"},
		{promise.Ports, 1001, 1000, "GOOD: It, at most 0.1 % above the least over these ports.", "1000: gap 1 above the bound (leaf0)", "; its N are at most 0.1 % above the least over these ports"},
	} {
		p := promise.Promise{Kind: x.kind, Takes: x.takes, Least: x.least, By: "leaf0"}
		a := answer.Decide(answer.Takes, answer.Evidence{Findings: []answer.Finding{p.Finding("it", "")}})
		expect.Equal(t, a.String(), x.said, "%+v", p)
		expect.Equal(t, p.Bound(), x.bound, "%+v", p)
		expect.Equal(t, p.Attained(), strings.Contains(x.bound, "optimal"), "%+v", p)
		if x.least > 0 {
			expect.Equal(t, p.Claim("N"), x.claim, "%+v", p)
		}
	}
	faster := promise.Promise{Takes: 31, Least: 31, Slow: promise.Slow{Faster: true}}
	expect.True(t, !faster.Attained() && faster.Bound() == "not known", "%+v", faster)
	var b strings.Builder
	promise.Promise{Takes: 40, Slow: promise.Slow{All: 62, Unit: "message times", Avoids: []promise.Cable{{"leaf0-spine1", 0.5}}, Hosts: []promise.Cable{{"server3", 0.25}}}}.Describe(&b)
	expect.Equal(t, b.String(), "leaf0-spine1 (50.0 % of the usual rate) counts as dead: with all slow links in use the plan takes 62 message times\n"+
		"server3 has 25.0 % of the link rate: each of its messages takes 4 times as long\n", "slow cables")
}
