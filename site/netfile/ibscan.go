package netfile

import (
	"strconv"
	"strings"

	"evbench/internal/show"
)

// A cursor splits a line into parts. It skips blanks between parts.
type cursor struct{ rest string }

func (c *cursor) blanks() { c.rest = strings.TrimLeft(c.rest, " \t") }

func (c *cursor) at(b byte) bool {
	c.blanks()
	return c.rest != "" && c.rest[0] == b
}

// skip consumes s, if it comes next.
func (c *cursor) skip(s string) bool {
	c.blanks()
	rest, ok := strings.CutPrefix(c.rest, s)
	c.rest = rest
	return ok
}

func (c *cursor) end() bool {
	c.blanks()
	return c.rest == "" || c.rest[0] == '#'
}

func (c *cursor) take(set string) string {
	c.blanks()
	rest := strings.TrimLeft(c.rest, set)
	out := c.rest[:len(c.rest)-len(rest)]
	c.rest = rest
	return out
}

func (c *cursor) word() string {
	c.blanks()
	i := strings.IndexAny(c.rest, " \t")
	if i < 0 {
		i = len(c.rest)
	}
	out := c.rest[:i]
	c.rest = c.rest[i:]
	return out
}

func (c *cursor) number() (int, bool) {
	n, err := strconv.ParseUint(c.take("0123456789"), 10, 31)
	return int(n), err == nil
}

// hex consumes a hexadecimal number, with or without 0x.
func (c *cursor) hex() (uint64, bool) {
	c.skip("0x")
	n, err := strconv.ParseUint(c.take("0123456789abcdefABCDEF"), 16, 64)
	return n, err == nil
}

func (c *cursor) quoted() (string, bool) {
	if !c.skip(`"`) {
		return "", false
	}
	name, rest, ok := strings.Cut(c.rest, `"`)
	c.rest = rest
	return name, ok
}

// bracket consumes "[12]", and a following "[ext 3]": the number printed on the chassis.
func (c *cursor) bracket() (int, bool) {
	if !c.skip("[") {
		return 0, false
	}
	n, ok := c.number()
	ok = ok && c.skip("]")
	if ok && c.skip("[ext") {
		c.take("0123456789")
		ok = c.skip("]")
	}
	return n, ok
}

// parenthesis consumes "(2c90300000041)" if it comes next.
func (c *cursor) parenthesis() (uint64, bool) {
	if !c.skip("(") {
		return 0, true
	}
	n, ok := c.hex()
	return n, ok && c.skip(")")
}

// options consumes ibsim's options of a port: w=… and s=….
func (c *cursor) options() {
	for c.skip("w=") || c.skip("s=") {
		c.take("0123456789")
	}
}

type note struct {
	name          string // in quotes
	named         bool
	before, after int // LID before and after the name, 0 if none
	lmc           int // -1 if none
	rate          float64
}

// comment reads the text after a #. A name may contain quotes: it ends at the last one.
func (c *cursor) comment() note {
	out := note{lmc: -1}
	if !c.skip("#") {
		return out
	}
	head, tail := c.rest, ""
	i, j := strings.IndexByte(c.rest, '"'), strings.LastIndexByte(c.rest, '"')
	if i >= 0 && j > i {
		out.name, out.named = c.rest[i+1:j], true
		head, tail = c.rest[:i], c.rest[j+1:]
	}
	out.before = value(head, "lid", 0)
	out.after = value(tail, "lid", 0)
	out.lmc = max(value(head, "lmc", -1), value(tail, "lmc", -1))
	out.rate = lastRate(tail)
	return out
}

// value returns the number after a word, or none.
func value(s, word string, none int) int {
	f := strings.Fields(s)
	for i := range len(f) - 1 {
		if f[i] != word {
			continue
		}
		if n, err := strconv.ParseUint(f[i+1], 10, 31); err == nil {
			return int(n)
		}
	}
	return none
}

var brief = show.Brief
