// Package show formats counts, lists of names, tables, paragraphs and foreign text for people. It
// does not depend on networks.
package show

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
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

// Brief quotes text of a file or user, cut to fit on a line.
func Brief(s string) string {
	if len(s) > 80 {
		return strconv.Quote(s[:77]) + "…"
	}
	return strconv.Quote(s)
}

// Percent is a share in per cent, to a tenth.
func Percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
