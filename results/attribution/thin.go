package attribution

import (
	"slices"

	"evbench/internal/lists"
)

// What few messages show has to be plain: thinEvident is the gain of a cause in log likelihood, since evident alone named somebody in
// .2 % of healthy parts (TestThin's draws); thinSlow is the part of its pairs that are slow, or thinFound how many parts show it.
const (
	thinEvident = 2 * evident
	thinSlow    = 0.9
	thinFound   = 4
)

// Thin returns the causes of the last parts of an exchange, the latest last, in which servers sent only some of their messages, others in
// each: a single part names nobody. As few of the last as name somebody do. Found is how many of these show a cause by themselves.
func Thin(parts []Evidence) (out []Cause) {
	for n := 2; n <= len(parts); n++ {
		of, all := parts[len(parts)-n:], Evidence{}
		for _, e := range of {
			e.Pairs = lists.Map(e.Pairs, withBytes)
			all.Add(e)
		}
		for _, c := range Find(all) {
			c.Found = lists.CountIf(of, c.Shows)
			plain := c.score >= thinEvident && (float64(c.Slow) >= thinSlow*float64(c.Pairs) || c.Found >= thinFound)
			if plain && !slices.ContainsFunc(out, func(o Cause) bool { return slices.Contains(o.Parts, c.Parts[0]) }) {
				out = append(out, c)
			}
		}
	}
	return out
}

// withBytes leaves out the message of a pair that had no bytes: it says nothing of a rate.
func withBytes(p Pair) Pair {
	if p.Bytes == 0 {
		p.Messages, p.Longest, p.LongestAt, p.Soonest = 0, 0, 0, 0
	}
	return p
}
