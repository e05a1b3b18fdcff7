// Package show formats counts, lists of names, tables, paragraphs and foreign text for people. It
// does not depend on networks.
package show

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/lists"
)

// Commas writes a number in groups of three digits.
func Commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// OrNone writes a list with commas, or "none".
func OrNone(names []string) string { return cmp.Or(strings.Join(names, ","), "none") }

// And and Or write a list as in a sentence: "a, b and c".
func And(names []string) string { return joined(names, " and ") }
func Or(names []string) string  { return joined(names, " or ") }

func joined(names []string, between string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + between + names[last]
}

func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Amount writes a number with three digits and its unit with a prefix: 9.41 Gbit/s.
func Amount(x float64, unit string) string {
	for _, prefix := range []string{"", "k", "M", "G"} {
		if x < 999.5 {
			return fmt.Sprintf("%.3g %s%s", x, prefix, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3g T%s", x, unit)
}

// few is how many names of a list are written out.
const few = 8

// Few writes a list of names; of a long one it names the first, and gives the number of the rest.
func Few(names []string) string {
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … (%d)", strings.Join(names[:few-1], ", "), len(names))
}

// Some joins texts, of more than most the first ones and how many more there are.
func Some(texts []string, most int, between string) string {
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, between)
}

// Brief quotes text of a file or user, cut to fit on a line.
func Brief(s string) string {
	if len(s) > 80 {
		return strconv.Quote(s[:77]) + "…"
	}
	return strconv.Quote(s)
}

// Percent is a share in per cent, to a tenth.
func Percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// Nearest returns the choice with the fewest edits from s, if it is near enough, else "".
// O(len(s)·len(choice)) each.
func Nearest(s string, choices []string) string {
	best, least := "", min(2, (len(s)+1)/2)
	if len(s) > 5 {
		least = 3
	}
	for _, c := range choices {
		if n := edits(s, c); n <= least && n < 1<<10 {
			if best == "" || n < least {
				best, least = c, n
			}
		}
	}
	return best
}

// Choices lists the valid names, first the ones near to s, as the end of an error.
func Choices(s string, names []string) string {
	there := "there are " + strings.Join(names, ", ")
	if near := Nearest(s, names); near != "" {
		return "did you mean " + near + "? " + there
	}
	return there
}

// edits is the Levenshtein distance between two names; long ones are far from everything.
func edits(a, b string) int {
	if len(a) > 64 {
		return 1 << 10
	}
	row := lists.Range[int](len(b) + 1)
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
