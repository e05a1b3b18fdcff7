package attribution

import "evbench/internal/lists"

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
	parts = lists.Map(parts, withBytes)
	for n := 2; n <= len(parts); n++ {
		of, all := parts[len(parts)-n:], Evidence{}
		for _, e := range of {
			all.Add(e)
		}
		for _, c := range Find(all) {
			c.Found = lists.CountIf(of, c.Shows)
			plain := c.score >= thinEvident && (float64(c.Slow) >= thinSlow*float64(c.Pairs) || c.Found >= thinFound)
			if plain && !c.Among(out) {
				out = append(out, c)
			}
		}
	}
	return out
}

// withBytes leaves out the messages of pairs that had no bytes: they say nothing of a rate.
func withBytes(e Evidence) Evidence {
	e.Pairs = lists.Map(e.Pairs, func(p Pair) Pair {
		if p.Bytes == 0 {
			p.Messages, p.Longest, p.LongestAt, p.Soonest = 0, 0, 0, 0
		}
		return p
	})
	return e
}
