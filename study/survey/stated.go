package survey

import (
	"fmt"
	"strings"
)

// notStated stands where the text of the thesis gives no number: its figures
// were not read off.
const notStated = "not stated"

// A statement is a number that the text of the thesis gives for one shape and
// one reduction; the figures of chapter 5 show more, but only as curves. The
// thesis says that it is the same whether one leaf or all are reduced.
type statement struct{ topology, column, text string }

// The thesis (5.3 and 5.5) on Figures 5.7 and 5.10 to 5.12. LS is linear-shift,
// BO bandwidth-optimal, FS the fault-adaptive schedule.
var statedSlowdown = map[int][]statement{
	1: {
		{"FT(2;16,16)", "LS", "1.875"}, {"FT(2;16,16)", "BO", "1"}, {"FT(2;16,16)", "FS", "about 1"},
		{"FT(2;16,16)", "LS/FS", "close to 2"}, {"FT(2;16,16)", "BO/FS", "1"},
		{"FT(2;20,18)", "LS", "1.88"}, {"FT(2;20,18)", "BO", "1"}, {"FT(2;20,18)", "FS", "about 1"},
		{"FT(2;20,18)", "LS/BO", "2"}, {"FT(2;20,18)", "LS/FS", "close to 2"}, {"FT(2;20,18)", "BO/FS", "1"},
		{"FT(2;16,32)", "LS", "1.9375"}, {"FT(2;16,32)", "BO", "1.5"}, {"FT(2;16,32)", "FS", "about 1"},
		{"FT(2;16,32)", "LS/FS", "close to 2"}, {"FT(2;16,32)", "BO/FS", "1.4"},
	},
	2: {
		{"FT(2;16,16)", "BO/FS", "about 1.8"}, {"FT(2;20,18)", "LS/BO", "0.9"}, {"FT(2;20,18)", "BO/FS", "about 1.8"},
		{"FT(2;16,32)", "BO/FS", "about 1.8"},
	},
	8: {
		{"FT(2;16,16)", "BO", "about 2"}, {"FT(2;16,16)", "LS/FS", "1.02"}, {"FT(2;16,16)", "BO/FS", "1.03"},
		{"FT(2;16,32)", "BO", "about 2"}, {"FT(2;16,32)", "LS/FS", "1.02"}, {"FT(2;16,32)", "BO/FS", "1.03"},
	},
	10: {
		{"FT(2;20,18)", "BO", "about 2"}, {"FT(2;20,18)", "LS/FS", "1.02"}, {"FT(2;20,18)", "BO/FS", "1.03"},
	},
}

// stated returns what the thesis says about a reduction, "LS 1.875, BO 1", or
// "not stated".
func stated(topology string, reduction int) string {
	var parts []string
	for _, s := range statedSlowdown[reduction] {
		if s.topology == topology {
			parts = append(parts, fmt.Sprintf("%s %s", s.column, s.text))
		}
	}
	if parts == nil {
		return notStated
	}
	return strings.Join(parts, ", ")
}
