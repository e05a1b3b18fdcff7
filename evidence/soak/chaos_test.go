package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"evbench/scenario"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/topology"
)

// rounds are those of some soaks of different length.
func rounds(t *testing.T, do func(t *testing.T, s *Script)) {
	t.Helper()
	for _, length := range []time.Duration{20 * time.Second, 3 * time.Minute, 10 * time.Minute} {
		for seed := range uint64(3) {
			p := Plan{Seed: seed, Length: length}
			for n := 1; n <= 20; n++ {
				do(t, p.Round(n))
			}
		}
	}
}

func TestEqualSeedsGiveEqualRounds(t *testing.T) {
	rounds(t, func(t *testing.T, s *Script) {
		if s.Kind == Long {
			return // long to draw, and drawn like the others
		}
		for _, length := range []time.Duration{20 * time.Second, 3 * time.Minute, 10 * time.Minute} {
			again := Plan{Seed: s.Seed, Length: length}.Round(s.Round)
			expect.True(t, again.Kind == s.Kind && again.Victim == s.Victim && again.Notation == s.Notation,
				"seed %d round %d is %s on %s in one soak, %s on %s in another", s.Seed, s.Round, s.Kind, s.Notation, again.Kind, again.Notation)
			expect.False(t, again.Duration == s.Duration && !s.Kind.OnLinks() && !reflect.DeepEqual(again, s),
				"seed %d round %d: %+v, and again %+v", s.Seed, s.Round, s, again)
		}
	})
	a, b := Plan{7, time.Minute}.Round(1), Plan{7, time.Minute}.Round(1)
	expect.True(t, reflect.DeepEqual(a, b), "the same long round was drawn in two ways")
	expect.True(t, !reflect.DeepEqual(a.failures, (Plan{8, time.Minute}).Round(1).failures), "two seeds gave the same long round")
}

func TestEveryKindComesUp(t *testing.T) {
	for seed := range uint64(5) {
		have := map[Kind]bool{}
		for n := 1; n <= 1+len(kinds); n++ {
			have[Plan{Seed: seed, Length: time.Minute}.Round(n).Kind] = true
		}
		for _, k := range Kinds() {
			expect.True(t, have[k], "seed %d: a deck without %q", seed, k)
		}
	}
}

// Scripts are scenarios, which excludes that a link dies that is dead.
func TestScriptsAreScenarios(t *testing.T) {
	rounds(t, func(t *testing.T, s *Script) {
		read, err := scenario.Files{Engines: engines.Trees()}.Read("soak.yaml", strings.NewReader(s.YAML()))
		if err != nil {
			t.Fatalf("seed %d round %d: %v\n%s", s.Seed, s.Round, err, s.YAML())
		}
		want := len(s.failures)
		if s.Kind.byOthers() {
			want = 0
		}
		expect.Equal(t, len(read.Cases[0].Timed), want, "seed %d round %d: %d failures, the scenario has", s.Seed, s.Round, want)
	})
}

// Servers reach each other whenever a link has died, but where the contrary is meant.
func TestDisconnectsOnlyOnPurpose(t *testing.T) {
	parted := map[Kind]int{}
	rounds(t, func(t *testing.T, s *Script) {
		tree := s.Tree()
		expect.False(t, s.Kind == Wait && !s.wait || s.Kind == End && s.wait,
			"seed %d round %d: a round of kind %s waits: %v", s.Seed, s.Round, s.Kind, s.wait)
		for _, f := range s.failures {
			if joined(tree, f.At, 0, s.failures) {
				continue
			}
			if parted[s.Kind]++; s.Kind != Wait && s.Kind != End {
				t.Errorf("seed %d round %d, %s: no path between some servers at %s", s.Seed, s.Round, s.Kind, f.At)
			}
		}
	})
	expect.True(t, parted[Wait] != 0 && parted[End] != 0, "servers were parted so often: %v", parted)
}

// What others do is possible: no link dies that is dead, and all are up again in the end but
// where that is meant. A pause is long enough to be taken for a loss.
func TestOthers(t *testing.T) {
	waves, pauses := 0, 0
	rounds(t, func(t *testing.T, s *Script) {
		dead, at := map[topology.Link]bool{}, time.Duration(0)
		for _, x := range s.Strikes() {
			expect.True(t, x.At >= at && dead[x.Link] != !x.Up, "seed %d round %d: %+v", s.Seed, s.Round, x)
			dead[x.Link], at = !x.Up, x.At
		}
		expect.False(t, s.Kind == Severed && at < time.Hour || s.Kind == Outside && (len(s.Strikes()) < 4 || at > s.Duration-calm/2),
			"seed %d round %d, %s: %+v", s.Seed, s.Round, s.Kind, s.Strikes())
		if s.Kind == Pause {
			pauses++
			expect.True(t, len(s.Stops) != 0 && s.Stops[0].For >= 2*time.Second && s.Stops[0].At <= s.Duration-calm,
				"seed %d round %d: %+v", s.Seed, s.Round, s.Stops)
		}
		for _, w := range s.Waves {
			waves++
			expect.True(t, w.At >= 0 && w.At <= s.Duration && w.Connections >= 1 && s.Kind == Strangers, "seed %d round %d: %+v", s.Seed, s.Round, w)
		}
	})
	expect.True(t, waves != 0 && pauses != 0, "%d waves, %d pauses", waves, pauses)
}

// All links are up again for a while before a case ends.
func TestLinksComeBack(t *testing.T) {
	rounds(t, func(t *testing.T, s *Script) {
		for _, f := range s.failures {
			expect.False(t, s.Kind.OnLinks() && f.At+f.For > s.Duration-calm/2,
				"seed %d round %d: %s is dead until %s of %s", s.Seed, s.Round, f.Name, f.At+f.For, s.Duration)
		}
	})
}

func TestLongRoundHasAThousandEvents(t *testing.T) {
	for _, length := range []time.Duration{3 * time.Minute, 10 * time.Minute} {
		s := Plan{Seed: 1, Length: length}.Round(1)
		n := s.Changes()
		expect.True(t, n >= enough*9/10 && n <= enough+50, "a soak of %s has %d link events in its long round", length, n)
	}
}

func TestNextRoundOfAKind(t *testing.T) {
	p := Plan{Seed: 3}
	for _, k := range Kinds() {
		n := p.Next(1, func(x Kind) bool { return x == k })
		expect.True(t, n != 0 && p.Round(n).Kind == k, "the first round of kind %q is %d", k, n)
		again := p.Next(n+1, func(x Kind) bool { return x == k })
		expect.False(t, (again == 0) != (k == Long) || again != 0 && p.Round(again).Kind != k,
			"after round %d the next of kind %q is %d", n, k, again)
	}
}
