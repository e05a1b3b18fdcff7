// Package promise answers: how does what a plan takes stand to the least, and what shows it?
//
// It is the one writer of that: planners, the judge and surveys hand in facts. A plan is called the shortest, or what it takes the
// least, only where no plan of its kind takes less.
package promise

import (
	"fmt"
	"io"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/topology"
)

// A Kind is the plans among which one may be the shortest.
type Kind struct {
	of, allow string
	near      float64 // of the least: such a plan is good; 0: only the shortest is
	nearSteps float64 // likewise more than the least: small networks have few steps
	sixDigits bool
}

// The kinds: all plans of a network; the orders of messages over given tables, also in whole steps, and of fragments that
// differ in size; the orders over the paths of known source ports.
var (
	Any    = Kind{of: "plan", sixDigits: true}
	Tables = Kind{of: "order over these tables", allow: "that these tables allow", near: 1.03, nearSteps: 2}
	Steps  = Kind{of: "order over these tables in steps", allow: "that these tables allow in steps", near: 1.03, nearSteps: 2}
	Bytes  = Kind{of: "order over these tables", allow: "that these tables allow", near: 1.03}
	Ports  = Kind{of: "order over these ports", allow: "over these ports", near: 1.08}
)

// Ring is the orders of hosts of a collective, in each of which blocks are passed on in rings of so many ranks; 0: in any way.
func Ring(ranks int) Kind {
	if ranks == 0 {
		return Kind{of: "order of hosts", allow: "of any order"}
	}
	return Kind{of: "ring", allow: fmt.Sprintf("of a ring of %d ranks", ranks), sixDigits: true}
}

// A Promise is what a plan takes, and what no plan of its kind takes less than, in one unit.
type Promise struct {
	Kind
	Takes, Least float64  // 0: not known
	By           string   // what proves Least: "server", "leaf3"
	Why          []string // likewise, in sentences
	Slow         Slow
}

// round is by which part times may differ that are equal.
const round = 1e-9

// Attained reports whether no plan of the kind takes less.
func (p Promise) Attained() bool {
	return !p.Slow.Faster && p.Takes > 0 && p.Least > 0 && p.Takes <= p.Least*(1+round)
}

// Finding says how long the plan takes, a clause, how that stands to the least, and what stands beside it.
func (p Promise) Finding(takes, beside string) answer.Finding {
	f := answer.Finding{Text: takes, Place: answer.At}
	doubt := func(format string, args ...any) { f.Doubts = []answer.Doubt{{Text: fmt.Sprintf(format, args...)}} }
	switch {
	case p.Slow.Faster:
		f.Text += " with one message at a time on each link"
		doubt("some carry more, and the least is not known")
	case p.Least == 0:
		doubt("the least is not known")
	case p.Attained() && p.allow == "":
		f.Cause = "no plan is shorter"
	case p.Attained():
		f.Text += ", the least " + p.allow
	case p.Takes <= p.near*p.Least || p.Takes <= p.Least+p.nearSteps:
		f.Text += fmt.Sprintf(", at most %s above the least %s", over(p.Takes/p.Least-1), p.allow)
	default:
		doubt("no %s takes less than %s, %s less than this one, and whether a shorter one exists is not known", p.of, p.amount(p.Least), p.amount(p.Takes-p.Least))
	}
	f.Text += beside
	return f
}

// Claim says how what a valid plan takes stands to the least, behind its name.
func (p Promise) Claim(takes string) string {
	if p.Attained() {
		return fmt.Sprintf(", and no %s takes less than its %s", p.of, takes)
	}
	return strings.TrimSpace(fmt.Sprintf("; its %s are at most %s above the least %s", takes, over(p.Takes/p.Least-1), p.allow))
}

// over is a share above the least, never zero.
func over(share float64) string {
	if share < 5e-4 {
		return "0.1 %"
	}
	return show.Percent(share)
}

// Bound says in a line how far the plan is from what no plan takes less than.
func (p Promise) Bound() string {
	switch {
	case p.Slow.Faster || p.Least == 0 || p.Takes == 0 && p.By == "":
		return "not known"
	case p.Takes == 0:
		return fmt.Sprintf("%.6g (%s)", p.Least, p.By)
	case p.Attained() || p.Takes <= p.Least:
		return fmt.Sprintf("%.6g: optimal (proven by %s)", p.Least, p.By)
	}
	return fmt.Sprintf("%.6g: gap %.6g above the bound (%s)", p.Least, p.Takes-p.Least, p.By)
}

func (k Kind) amount(x float64) string {
	if k.sixDigits && x != float64(int(x)) {
		return fmt.Sprintf("%.6g", x)
	}
	return Amount(x)
}

// Amount is a number of steps, or of other times.
func Amount(x float64) string {
	if x == float64(int(x)) || x >= 1000 {
		return show.Commas(int(x + 0.5))
	}
	return fmt.Sprintf("%.1f", x)
}

// A Cable is one that is slower than most, by its name, and its share of their rate.
type Cable struct {
	Name  string
	Share float64
}

// Slow is what a plan does with cables that are slower than most, or faster.
type Slow struct {
	Hosts        []Cable // of hosts
	Uses, Avoids []Cable // between switches
	Faster       bool    // some cables carry more messages than the plan counts with, and the least is not known
	Tree         float64 // where it is all the same: the bound of the tree, whose links carry less than the network's
	All          float64 // what the plan takes that uses all slow cables; 0: not known
	Unit         string  // of times
}

// SlowOf is what a plan of a tree does with slow cables: it uses some links and avoids others. all is what the plan takes that uses
// all of them.
func SlowOf(t *topology.Live, r topology.Rates, uses, avoids []topology.SlowLink, all float64, unit string) Slow {
	link := func(x topology.SlowLink) Cable { return Cable{t.LinkName(x.Link), x.Share} }
	host := func(h topology.SlowHost) Cable { return Cable{t.HostName(h.Rank), h.Share} }
	return Slow{Hosts: lists.Map(r.Hosts, host), Uses: lists.Map(uses, link), Avoids: lists.Map(avoids, link), Faster: r.Faster, All: all, Unit: unit}
}

// Any reports whether cables differ from most.
func (s *Slow) Any() bool {
	return s.Faster || s.Tree > 0 || len(s.Uses)+len(s.Avoids)+len(s.Hosts) > 0
}

// Describe prints what the plan does with each slow cable.
func (p Promise) Describe(w io.Writer) {
	s := p.Slow
	if s.Tree > 0 {
		fmt.Fprintf(w, "the bound of the tree, %.6g, is of planes that carry one message at a time; of the network, whose cables carry several, it is %.6g\n", s.Tree, p.Least)
	}
	for _, c := range s.Avoids {
		fmt.Fprintf(w, "%s (%s of the usual rate) counts as dead: with all slow links in use the plan takes %.6g %s\n", c.Name, show.Percent(c.Share), s.All, s.Unit)
	}
	for _, c := range s.Hosts {
		fmt.Fprintf(w, "%s has %s of the link rate: each of its messages takes %.3g times as long\n", c.Name, show.Percent(c.Share), 1/c.Share)
	}
	for _, c := range s.Uses {
		if p.Takes == 0 {
			fmt.Fprintf(w, "%s (%s of the usual rate) is planned as a whole link: this schedule chooses no paths\n", c.Name, show.Percent(c.Share))
			continue
		}
		fmt.Fprintf(w, "%s (%s of the usual rate) is in use: a message over it takes %.3g times as long; %.6g %s in all\n", c.Name, show.Percent(c.Share), 1/c.Share, p.Takes, s.Unit)
	}
}
