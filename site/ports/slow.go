package ports

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
)

// A Slow is a cable that carries messages at a share of the usual rate, both ways: that of a host or, between two switches, the one
// with these ends, as hops have them.
type Slow struct {
	Host  string // "": between switches
	Ends  [2]netip.Addr
	Share float64 // 0 < Share < 1
}

// String is the form of the file, "HOST SHARE" or "END END SHARE".
func (s Slow) String() string {
	if s.Host != "" {
		return fmt.Sprintf("%s %g", s.Host, s.Share)
	}
	return fmt.Sprintf("%s %s %g", s.Ends[0], s.Ends[1], s.Share)
}

// shares are those that slow cables give links, by name, and hosts, as ForJudge has them, and which cables these are.
func (p *Paths) shares() (out map[string]float64, cables []string) {
	if len(p.Slow) == 0 {
		return nil, nil
	}
	group, out := p.groupOf(), map[string]float64{}
	bySwitch, _ := p.namesSwitches()         // an exchange knows
	last := make([]netip.Addr, len(p.Hosts)) // by group: its switch is the last on a way to it
	rows := lists.Filter(p.Rows, Row.Known)
	for _, r := range rows {
		if len(r.Hops) > 0 {
			last[group[r.Dst]] = r.Hops[len(r.Hops)-1][0]
		}
	}
	for _, s := range p.Slow {
		on := false
		give := func(name string) { out[name], on = s.Share, true }
		for _, h := range p.Hosts {
			if h.Name == s.Host {
				give(h.String())
			}
		}
		for _, r := range rows {
			from := last[group[r.Src]]
			for i, h := range r.Hops { // where an address names a link, it is the end at which packets come in
				if to := h[0]; !bySwitch && slices.Contains(s.Ends[:], to) || s.Ends == [2]netip.Addr{from, to} || s.Ends == [2]netip.Addr{to, from} {
					give(p.links(r, group, bySwitch)[i])
				}
				from = h[0]
			}
		}
		if on {
			cables = append(cables, s.String())
		}
	}
	return out, cables
}

// A slowLine is a line about a slow cable.
type slowLine struct {
	at    string // file and line
	words []string
}

func (p *parser) slowLine(n int, words []string) error {
	switch {
	case p.form != magicSlow:
		return fmt.Errorf("slow: a file that has slow cables begins with %q", magicSlow)
	case len(words) != 2 && len(words) != 3:
		return errors.New("slow: write a host, or both ends of a cable between switches, and the share of the usual rate: 0.5")
	}
	p.slow = append(p.slow, slowLine{fmt.Sprintf("%sline %d: slow %s", p.name, n, strings.Join(words, " ")), words})
	return nil
}

// settle finds the slow cables of all files. One that no path passes is an error.
func (p *parser) settle() error {
	var all []Slow
	for _, line := range p.slow {
		s, err := p.cable(line.words)
		if err == nil {
			err = p.paths.passes(s)
		}
		same := slices.IndexFunc(all, func(o Slow) bool { return o.Host == s.Host && o.Ends == s.Ends })
		switch {
		case err != nil:
		case same < 0:
			all = append(all, s)
		case all[same] != s:
			err = fmt.Errorf("its share is %g in another line", all[same].Share)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", line.at, err)
		}
	}
	slices.SortFunc(all, func(a, b Slow) int { return cmp.Compare(a.String(), b.String()) })
	p.paths.Slow = all
	return nil
}

// cable reads "HOST SHARE" or "END END SHARE"; an end is an address, or the name of a hop.
func (p *parser) cable(words []string) (s Slow, err error) {
	n := len(words) - 1
	s.Share, err = strconv.ParseFloat(words[n], 64)
	_, host := p.hosts[words[0]]
	switch {
	case err != nil || !(s.Share > 0 && s.Share < 1):
		return s, fmt.Errorf("share %q: must be above 0 and below 1", words[n])
	case n == 1 && !host:
		return s, fmt.Errorf("host %s: is not in the header; a cable between switches has two ends", words[0])
	case n == 1:
		s.Host = words[0]
		return s, nil
	}
	for i, word := range words[:n] {
		s.Ends[i], err = netip.ParseAddr(word)
		for _, a := range slices.SortedFunc(maps.Keys(p.paths.Names), netip.Addr.Compare) {
			if p.paths.Names[a] == word {
				s.Ends[i], err = a, nil
			}
		}
		if err != nil {
			return s, fmt.Errorf("%s: is no hop, by address or name; of a host's cable write the host alone", word)
		}
	}
	slices.SortFunc(s.Ends[:], netip.Addr.Compare)
	return s, nil
}

// passes says why a cable is none of the paths; nil: a path passes it.
func (p *Paths) passes(s Slow) error {
	bySwitch, err := p.namesSwitches()
	if err != nil {
		return err
	}
	for _, r := range p.Rows {
		on := lists.CountIf(r.Hops, func(h Hop) bool { return slices.Contains(h, s.Ends[0]) || slices.Contains(h, s.Ends[1]) })
		if on > 1 && !bySwitch {
			return fmt.Errorf("%s passes both, so they are no two ends of a cable: a hop is the end at which packets come in", p.name(r))
		}
	}
	alone := *p
	alone.Slow = []Slow{s}
	if _, cables := alone.shares(); cables == nil || s.Host == "" && s.Ends[0] == s.Ends[1] {
		return errors.New("no path passes a cable with these ends")
	}
	return nil
}
