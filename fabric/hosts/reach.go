package hosts

import (
	"net/netip"
	"slices"
)

// Reach returns the address of this machine, of those that hosts saw the
// question come from, at which they reach a controller: the first that is one of
// the addresses here and not loopback, else a loopback one when all hosts are
// this machine. It is "" when there is none: behind a jump host or a translated
// address.
func Reach(reports []Report, here []string) string {
	loopback := ""
	for _, r := range reports {
		if r.Answer == nil {
			continue
		}
		from := r.Answer.ReachedFrom
		switch {
		case isLoopback(from):
			loopback = from
		case slices.Contains(here, from):
			return from
		default:
			return ""
		}
	}
	return loopback
}

func isLoopback(addr string) bool {
	a, err := netip.ParseAddr(addr)
	return err == nil && a.Unmap().IsLoopback()
}
