package judge

import (
	"fmt"

	"evbench/internal/show"
)

func (p *Pairs) summary() string {
	text := fmt.Sprintf("%s, usually %s", show.Plural(p.Count, "pair", "pairs"), show.Amount(p.Usual, "bit/s"))
	if p.OfRate > 0 {
		text += fmt.Sprintf(" (%s of the link rate)", percent(p.OfRate))
	}
	if p.Below == 0 {
		return text + "; none has less than 80% of that"
	}
	text += fmt.Sprintf("; %s less than 80%% of that", show.Plural(p.Below, "has", "have"))
	if p.Shared > 0 {
		text += fmt.Sprintf(": %d get their share of links that are shared under the tables or slow, %d do not", p.Shared, p.Slow)
	}
	return text
}

func (p *Pairs) lines(add func(string, string, ...any)) {
	add("pairs", "%s", p.summary())
	if p.Above > 0 {
		add("", "%s more than a link carries, up to %.3g times that, and counted as a link's rate: bursts from buffers, which larger messages have less of",
			show.Plural(p.Above, "pair got", "pairs got"), p.Fastest)
	}
	for _, x := range p.Common {
		or := ""
		for _, port := range x.Or {
			or += " or port " + port
		}
		add("in common", "%s to %s (port %s)%s: %d of the %d pairs over it are slow", x.From, x.To, x.Port, or, x.Slow, x.Pairs)
	}
	if p.Scattered > 0 && len(p.Common) > 0 {
		add("", "%s no link in common", show.Plural(p.Scattered, "slow pair has", "slow pairs have"))
	}
	for i, x := range p.Pairs[:min(len(p.Pairs), textPairs)] {
		more := ""
		if i == textPairs-1 && p.Slow > textPairs {
			more = fmt.Sprintf("; and %d more", p.Slow-textPairs)
		}
		add("slow", "%s to %s: %s, expected %s%s", x.Src, x.Dst, show.Amount(x.Rate, "bit/s"), show.Amount(x.Expected, "bit/s"), more)
	}
}
