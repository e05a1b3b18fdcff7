package show

import (
	"strings"

	"evbench/internal/lists"
)

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
	row := lists.Make(len(b)+1, func(j int) int { return j })
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
