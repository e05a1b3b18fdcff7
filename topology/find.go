package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// Find returns the links for a name: those of Links and, in a tree without other names, those that
// the network of its notation has: s1_0/5, the link at a port; s1_0-s2_3 or s1_0/5-s2_3/1, the links
// between two ends; s1_0, all of a switch. Our names may stand for its switches.
func (v *Live) Find(name string) ([]Link, error) {
	links, err := v.Links(name)
	if err == nil || v.names != nil {
		return links, err
	}
	if e, ok := v.end(name); ok {
		links = v.between(e, End{Switch: anywhere})
	}
	for i := range len(name) {
		if name[i] == '-' && strings.Contains(name[:i], "/") == strings.Contains(name[i:], "/") {
			if a, ok := v.end(name[:i]); ok {
				if b, ok := v.end(name[i+1:]); ok {
					links = append(links, v.between(a, b)...)
				}
			}
		}
	}
	if len(links) > 0 {
		return links, nil
	}
	return nil, err
}

// anywhere is a Switch or Port that stands for all.
const anywhere = -1

func (e End) is(of End) bool {
	return e == of || e.Switch == anywhere || e.Port == anywhere && e.Switch == of.Switch
}

// end returns the end for SWITCH or SWITCH/PORT, with ports from 1.
func (v *Live) end(name string) (End, bool) {
	at, port := name, 0
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		n, err := strconv.ParseUint(name[i+1:], 10, 8)
		if err != nil || n == 0 {
			return End{}, false
		}
		at, port = name[:i], int(n)
	}
	for sw := range v.Switches() {
		if at == v.SwitchName(sw) || at == v.LevelName(sw) {
			return End{sw, port - 1}, true
		}
	}
	return End{}, false
}

// LevelName returns the name that a switch has in the network of the tree's notation: s1_0 is the
// first leaf.
func (v *Live) LevelName(sw int) string {
	level := 1
	for _, count := range []int{v.leaves, v.Middles()} {
		if sw < count {
			break
		}
		sw, level = sw-count, level+1
	}
	return fmt.Sprintf("s%d_%d", level, sw)
}
