package attribution

import (
	"fmt"
	"slices"
	"testing"
)

// What nothing passes is named when a probe and its answer need it, whichever pairs were asked; of two, nobody.
func TestUnreached(t *testing.T) {
	f := fat{ports: 4, leaves: 4}
	over := func(from, to string) func(w Wire) bool {
		return func(w Wire) bool { return w.From == from && w.To == to }
	}
	either := func(of ...func(Wire) bool) func(Wire) bool {
		return func(w Wire) bool {
			return slices.ContainsFunc(of, func(is func(Wire) bool) bool { return is(w) })
		}
	}
	for _, tt := range []struct {
		name   string
		dead   func(Wire) bool
		asked  func(src, dst int) bool
		hidden bool
		want   string
	}{
		{"nothing", func(Wire) bool { return false }, nil, false, ""},
		{"a server's cable", either(over("server5", "leaf1"), over("leaf1", "server5")), nil, false, "nothing passes server5 or its cable to leaf1 (15 of 120 pairs)"},
		{"one direction of it", over("server5", "leaf1"), nil, false, "nothing passes server5 or its cable to leaf1 (15 of 120 pairs)"},
		{"ways are not known", over("server5", "leaf1"), nil, true, "nothing passes server5 or its cable to leaf1 (15 of 120 pairs)"},
		{"a direction between switches", over("leaf1", "spine3"), nil, false, "nothing passes leaf1 to spine3 (12 of 120 pairs)"},
		{"a cable between switches", either(over("leaf1", "spine3"), over("spine3", "leaf1")), nil, false, "nothing passes leaf1-spine3 (21 of 120 pairs)"},
		{"it is not known", over("leaf1", "spine3"), nil, true, ""},
		{"a switch", func(w Wire) bool { return w.From == "spine2" }, nil, false, "nothing passes spine2 (42 of 120 pairs)"},
		{"some were asked", over("server5", "leaf1"), func(src, dst int) bool { return (src+dst)%3 > 0 }, false, "nothing passes server5 or its cable to leaf1 (10 of 80 pairs)"},
		{"one pair", over("server5", "leaf1"), func(src, dst int) bool { return src+dst == 11 }, false, ""},
		{"two cables", either(over("server5", "leaf1"), over("server9", "leaf2")), nil, false, ""},
	} {
		e := Evidence{Ways: fat{f.ports, f.leaves, tt.hidden}}
		for s := range f.servers() {
			e.Names = append(e.Names, fmt.Sprint("server", s))
			for d := range f.servers() {
				if s != d {
					e.Pairs = append(e.Pairs, Pair{Src: s, Dst: d})
				}
			}
		}
		got, found := Unreached(e, func(src, dst int) (answered, known bool) {
			way := slices.Concat(f.way(src, dst), f.way(dst, src))
			return !slices.ContainsFunc(way, tt.dead), tt.asked == nil || tt.asked(src, dst)
		})
		text := ""
		if found {
			text = got.String()
		}
		if text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.want)
		}
	}
}
