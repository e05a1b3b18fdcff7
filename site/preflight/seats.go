package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// nowhere is the seat of a group that is not a leaf of the file.
const nowhere = -1

// compare names the servers that are not in the group of their leaf, each with a near server and a
// far one of its leaf.
func (s Survey) compare(m measure, groups []group) []string {
	seats := s.seats(groups)
	text := make([]string, len(s.Servers))
	for i, g := range groups {
		for _, v := range g {
			if s.Servers[v].Leaf != seats[i] {
				text[v] = s.complain(m, groups, seats, i, v)
			}
		}
	}
	return slices.DeleteFunc(text, func(t string) bool { return t == "" })
}

// seats maps each group to a leaf of the file: the leaf of most of its servers. Names of leaves
// cannot be measured, so a file that exchanges all servers of two leaves passes as well.
func (s Survey) seats(groups []group) []int {
	type match struct{ group, leaf, count int }
	var all []match
	for i, g := range groups {
		count := map[int]int{}
		for _, v := range g {
			count[s.Servers[v].Leaf]++
		}
		for leaf, n := range count {
			all = append(all, match{i, leaf, n})
		}
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(b.count-a.count, a.leaf-b.leaf, a.group-b.group)
	})
	seats := slices.Repeat([]int{nowhere}, len(groups))
	taken := map[int]bool{}
	for _, c := range all {
		if seats[c.group] == nowhere && !taken[c.leaf] {
			seats[c.group], taken[c.leaf] = c.leaf, true
		}
	}
	return seats
}

// complain says where one server of a group seems to be, and why.
func (s Survey) complain(m measure, groups []group, seats []int, at, v int) string {
	file := s.Servers[v].Leaf
	text := fmt.Sprintf("%s seems to be on leaf%d, not on leaf%d as the file says", s.name(v), seats[at], file)
	if seats[at] == nowhere {
		text = fmt.Sprintf("%s seems to sit on another leaf than leaf%d, where the file puts it", s.name(v), file)
	}
	var why []string
	near := func(b int) bool { return b != v && m.value[v][b] != unknown }
	if i := slices.IndexFunc(groups[at], near); i >= 0 {
		b := groups[at][i]
		why = append(why, fmt.Sprintf("%s to %s", m.say(m.value[v][b]), s.name(b)))
	}
	if home := slices.Index(seats, file); home >= 0 && home != at {
		far := func(b int) bool { return s.Servers[b].Leaf == file && m.value[v][b] != unknown }
		if i := slices.IndexFunc(groups[home], far); i >= 0 {
			b := groups[home][i]
			why = append(why, fmt.Sprintf("%s to %s of leaf%d", m.say(m.value[v][b]), s.name(b), file))
		}
	}
	if len(why) == 0 {
		return text
	}
	return text + ": " + strings.Join(why, ", ")
}
