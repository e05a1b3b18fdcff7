package hosts

import (
	"fmt"
	"strings"

	"evbench/internal/hostlist"
)

// Limits on host lists.
const (
	maxHosts = 1 << 16
	maxName  = 253
)

// Expand returns the hosts of a list as Slurm and pdsh write it, such as
// "node[001-326],gw[1,3-5]". A host may be there several times. What could be
// taken for an option of ssh, or for more than one word, is no host.
func Expand(list string) ([]string, error) {
	hosts, err := hostlist.Expand(list)
	if err != nil {
		return nil, err
	}
	if len(hosts) > maxHosts {
		return nil, fmt.Errorf("host list: %d hosts; at most %d", len(hosts), maxHosts)
	}
	for _, h := range hosts {
		if err := checkHost(h); err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

// checkHost reports why a name is not that of a host.
func checkHost(name string) error {
	bad := strings.IndexFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("-._:", r)
	})
	switch {
	case bad >= 0:
		return fmt.Errorf("host %q: %q cannot be in the name of a host", name, name[bad])
	case name[0] == '-':
		return fmt.Errorf("host %q: the name of a host does not begin with -", name)
	case len(name) > maxName:
		return fmt.Errorf("host %.20s…: the name of a host is longer than %d characters", name, maxName)
	}
	return nil
}
