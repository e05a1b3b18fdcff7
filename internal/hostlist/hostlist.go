// Package hostlist reads and writes the host list expressions of Slurm and pdsh, such as
// "node[001-326]", and reads the host lists of mpirun and Slurm. It does not resolve hosts.
package hostlist

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Max bounds the names of one expression.
const Max = 1 << 20

// Expand returns the names of a host list expression in Slurm's form: names separated by commas,
// each with ranges in brackets, such as node[001-326,400] or rack[1-2]node[1-4]. Numbers have as
// many digits as the first of their range. It takes node001..node326, too. O(names).
func Expand(expr string) ([]string, error) {
	var names []string
	for _, item := range splitList(expr) {
		more, err := expandItem(bracketed(strings.TrimSpace(item)), Max-len(names))
		if err != nil {
			return nil, fmt.Errorf("host list %q: %w", Short(expr), err)
		}
		names = append(names, more...)
	}
	return names, nil
}

// bracketed writes a range of two names, node001..node326, with brackets.
func bracketed(item string) string {
	from, to, ok := strings.Cut(item, "..")
	p, low, s := numbered(from)
	if q, high, t := numbered(to); ok && p == q && s == t && low != "" && high != "" {
		return p + "[" + low + "-" + high + "]" + s
	}
	return item
}

// Plain returns a host's name without its domain; an address is unchanged.
func Plain(name string) string {
	if _, err := netip.ParseAddr(name); err != nil {
		name, _, _ = strings.Cut(name, ".")
	}
	return name
}

// Short shortens a text for an error.
func Short(s string) string {
	if len(s) <= 60 {
		return s
	}
	return s[:57] + "…"
}

// splitList splits at commas outside brackets.
func splitList(s string) (items []string) {
	depth, begin := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == '[':
			depth++
		case s[i] == ']':
			depth--
		case s[i] == ',' && depth == 0:
			items = append(items, s[begin:i])
			begin = i + 1
		}
	}
	return append(items, s[begin:])
}

func expandItem(item string, room int) ([]string, error) {
	if item == "" {
		return nil, fmt.Errorf("a name is missing")
	}
	names := []string{""}
	for parts := 0; item != ""; parts++ {
		if parts == maxParts {
			return nil, fmt.Errorf("%q has more than %d brackets", Short(item), maxParts)
		}
		literal, rest, open := strings.Cut(item, "[")
		if err := Check(literal, maxName); err != nil {
			return nil, err
		}
		ends := []string{""}
		if open {
			ranges, after, closed := strings.Cut(rest, "]")
			if !closed {
				return nil, fmt.Errorf("[%s has no ]", Short(ranges))
			}
			var err error
			if ends, err = expandRanges(ranges, room); err != nil {
				return nil, err
			}
			rest = after
		}
		if len(names)*len(ends) > room {
			return nil, fmt.Errorf("more than %d names", Max)
		}
		names, item = product(names, literal, ends), rest
	}
	return names, nil
}

// Limits of a name.
const (
	maxName  = 255 // characters between brackets
	maxParts = 8   // brackets
)

// Check checks the characters of a name, or of other text beside lists of names, such as the
// identifier of a job.
func Check(name string, most int) error {
	if len(name) > most {
		return fmt.Errorf("%q: more than %d characters", Short(name), most)
	}
	for _, r := range name {
		if r <= ' ' || r > '~' || strings.ContainsRune("[](),#/\\", r) {
			return fmt.Errorf("%q: no name has the character %q", Short(name), r)
		}
	}
	return nil
}

func product(names []string, literal string, ends []string) []string {
	out := make([]string, 0, len(names)*len(ends))
	for _, n := range names {
		for _, e := range ends {
			out = append(out, n+literal+e)
		}
	}
	return out
}

func expandRanges(s string, room int) (numbers []string, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, err1 := number(from)
		high, err2 := number(to)
		if err1 != nil || err2 != nil || high < low {
			return nil, fmt.Errorf("[%s]: %q is neither a number nor a range", Short(s), Short(part))
		}
		if high-low >= room-len(numbers) {
			return nil, fmt.Errorf("more than %d names", Max)
		}
		for i := low; i <= high; i++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(from), i))
		}
	}
	return numbers, nil
}

const maxDigits = 9

// number reads only digits: no sign, and not too many.
func number(s string) (int, error) {
	if len(s) > maxDigits || strings.Trim(s, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}

// Compress returns an expression for names: sorted, each once, with ranges for
// numbers of equal length. Expand reads it back. O(n log n).
func Compress(names []string) string {
	names = slices.Compact(slices.SortedFunc(slices.Values(names), Compare))
	var out []string
	for i := 0; i < len(names); {
		prefix, digits, suffix := numbered(names[i])
		end := i + 1
		for end < len(names) {
			p, d, s := numbered(names[end])
			if digits == "" || p != prefix || s != suffix || len(d) != len(digits) {
				break
			}
			end++
		}
		if end == i+1 {
			out = append(out, names[i])
		} else {
			out = append(out, prefix+"["+ranges(names[i:end], prefix, suffix)+"]"+suffix)
		}
		i = end
	}
	return strings.Join(out, ",")
}

// Compare orders names in numeric order: n9 before n10.
func Compare(a, b string) int {
	p, d, s := numbered(a)
	q, e, t := numbered(b)
	return cmp.Or(cmp.Compare(p, q), cmp.Compare(s, t), cmp.Compare(len(d), len(e)), cmp.Compare(d, e))
}

func numbered(name string) (prefix, digits, suffix string) {
	end := strings.LastIndexAny(name, "0123456789") + 1
	begin := end
	for begin > 0 && end-begin < maxDigits && name[begin-1] >= '0' && name[begin-1] <= '9' {
		begin--
	}
	return name[:begin], name[begin:end], name[end:]
}

// ranges writes the numbers of sorted names with the same prefix and suffix.
func ranges(names []string, prefix, suffix string) string {
	var parts []string
	digits := func(i int) string { return strings.TrimSuffix(strings.TrimPrefix(names[i], prefix), suffix) }
	for i := 0; i < len(names); {
		low, _ := number(digits(i))
		end := i + 1
		for end < len(names) {
			if next, _ := number(digits(end)); next != low+end-i {
				break
			}
			end++
		}
		part := digits(i)
		if end > i+1 {
			part += "-" + digits(end-1)
		}
		parts = append(parts, part)
		i = end
	}
	return strings.Join(parts, ",")
}
