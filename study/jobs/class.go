package jobs

import (
	"fmt"
	"io"
	"path"
	"strings"

	"evbench/internal/hostlist"
)

type nodeClass uint8

// The classes.
const (
	computeNode nodeClass = iota
	ioNode
	otherNode
)

func (c nodeClass) String() string { return [...]string{"compute", "io", "other"}[c] }

// Classes say what nodes are for. The zero value says that all compute.
type Classes struct {
	exact    map[string]nodeClass
	patterns []pattern
}

type pattern struct {
	text  string
	class nodeClass
}

// ReadClasses reads lines "compute|io|other: node,node…". Nodes are host list
// expressions, in which * stands for anything and ? for one character. A node is
// in the class that names it, else in that of the first pattern that fits, else it
// computes.
func ReadClasses(r io.Reader) (*Classes, error) {
	c := &Classes{exact: map[string]nodeClass{}}
	return c, lines(r, func(line string) error {
		word, rest, _ := strings.Cut(line, ":")
		class, ok := map[string]nodeClass{"compute": computeNode, "io": ioNode, "other": otherNode}[strings.ToLower(strings.TrimSpace(word))]
		if !ok {
			return fmt.Errorf("%q: no line begins so; there are compute, io and other, with a colon", hostlist.Short(line))
		}
		names, err := hostlist.Expand(strings.TrimSpace(rest))
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := c.add(n, class); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Classes) add(name string, class nodeClass) error {
	if strings.ContainsAny(name, "*?") {
		c.patterns = append(c.patterns, pattern{name, class})
		return nil
	}
	if before, ok := c.exact[name]; ok && before != class {
		return fmt.Errorf("%s is in class %s and in class %s", name, before, class)
	}
	c.exact[name] = class
	return nil
}

func (c *Classes) of(name string) nodeClass {
	if class, ok := c.exact[name]; ok {
		return class
	}
	for _, p := range c.patterns {
		if ok, _ := path.Match(p.text, name); ok {
			return p.class
		}
	}
	return computeNode
}
