package host

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"evbench/internal/unit"
)

// A MemoryError refuses what takes more memory than this machine has.
type MemoryError struct{ Text string }

func (e *MemoryError) Error() string { return e.Text }

// Usable returns how many bytes of memory may be taken, or 0 if that is unknown.
func Usable() uint64 { return usable(Available()) }

func usable(available uint64) uint64 { return available/10*9 + available%10*9/10 }

// Fits returns an error with a cure if need bytes exceed the usable memory; if that is unknown it
// returns nil.
func Fits(what string, need float64, cure string) error { return fits(what, need, cure, Available()) }

func fits(what string, need float64, cure string, available uint64) error {
	if available == 0 || need <= float64(usable(available)) {
		return nil
	}
	return &MemoryError{fmt.Sprintf("%s %s, this machine has %s free, and evbench takes at most 90 %% of that: %s", what,
		unit.Bytes(min(need, math.MaxInt64/2)), unit.Bytes(available), cure)}
}

// Room returns how many items of each bytes fit into the usable memory.
func Room(each uint64) int {
	if bytes := Usable(); bytes > 0 {
		return int(bytes / each)
	}
	return math.MaxInt
}

// A hierarchy is control groups of one kind. Each limits the groups below it.
type hierarchy struct {
	limits  []string // files with a limit in bytes; other text means no limit
	current string   // the file with the usage
	cache   []string // part of the usage that the kernel can reclaim (file cache): fields of memory.stat
	name    string   // its field of /proc/self/cgroup
	fstype  string
	option  string // of the file system
}

var hierarchies = []hierarchy{
	{[]string{"memory.max", "memory.high"}, "memory.current", []string{"inactive_file", "active_file"}, "", "cgroup2", ""},
	{[]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", []string{"total_inactive_file", "total_active_file"}, "memory", "cgroup", "memory"},
}

// allowance returns how many bytes this process may take before it reaches the limit of a control
// group, as set by batch systems and containers, and whether there is a limit.
func allowance(root fs.FS) (bytes uint64, limited bool) {
	for _, h := range hierarchies {
		mount, own, ok := h.place(root)
		for ; ok; own = path.Dir(own) {
			if free, has := h.free(root, path.Join(mount, own)); has && (!limited || free < bytes) {
				bytes, limited = free, true
			}
			ok = own != "/"
		}
	}
	return bytes, limited
}

// place returns where a hierarchy is mounted, without the first "/", and the group of this process
// in it.
func (h hierarchy) place(root fs.FS) (mount, own string, ok bool) {
	for line := range strings.Lines(text(root, "proc/self/cgroup")) { // number:names:group
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (f[1] == h.name || h.name != "" && slices.Contains(strings.Split(f[1], ","), h.name)) {
			own, ok = f[2], true
			break
		}
	}
	if !ok {
		return "", "", false
	}
	for line := range strings.Lines(text(root, "proc/self/mountinfo")) { // … root place … - type source options
		what, how, _ := strings.Cut(strings.TrimSpace(line), " - ")
		f, g := strings.Fields(what), strings.Fields(how)
		if len(f) < 5 || len(g) < 3 || g[0] != h.fstype || h.option != "" && !slices.Contains(strings.Split(g[2], ","), h.option) {
			continue
		}
		// A container may see only its own group, but under its outside name.
		return strings.TrimPrefix(f[4], "/"), path.Clean("/" + strings.TrimPrefix(own, strings.TrimSuffix(f[3], "/"))), true
	}
	return "", "", false
}

func (h hierarchy) free(root fs.FS, dir string) (bytes uint64, limited bool) {
	var used uint64
	if _, err := fmt.Sscan(text(root, path.Join(dir, h.current)), &used); err != nil {
		return 0, false
	}
	for line := range strings.Lines(text(root, path.Join(dir, "memory.stat"))) {
		var name string
		var n uint64
		if _, err := fmt.Sscan(line, &name, &n); err == nil && slices.Contains(h.cache, name) {
			used -= min(used, n)
		}
	}
	for _, file := range h.limits {
		var most uint64
		if _, err := fmt.Sscan(text(root, path.Join(dir, file)), &most); err != nil {
			continue // "max", or no file
		}
		if free := most - min(most, used); !limited || free < bytes {
			bytes, limited = free, true
		}
	}
	return bytes, limited
}
