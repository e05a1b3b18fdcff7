package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

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
		h.each(root, func(dir string) {
			if free, has := h.free(root, dir); has && (!limited || free < bytes) {
				bytes, limited = free, true
			}
		})
	}
	return bytes, limited
}

// each calls f with the directory of the group of this process in a hierarchy, and of each group above.
func (h hierarchy) each(root fs.FS, f func(dir string)) {
	mount, own, ok := h.place(root)
	for ; ok; own = path.Dir(own) {
		f(path.Join(mount, own))
		ok = own != "/"
	}
}

// Processors returns how many processors this process can keep busy at once: those of its affinity,
// within the quota of its control groups, and at least 1.
func Processors() int { return processors(os.DirFS("/"), runtime.NumCPU()) }

func processors(root fs.FS, affinity int) int {
	n := affinity
	least := func(dir string, files ...string) {
		var words []string
		for _, f := range files {
			words = append(words, strings.Fields(text(root, path.Join(dir, f)))...)
		}
		if len(words) != 2 {
			return
		}
		quota, err := strconv.Atoi(words[0]) // "max" or -1: no limit
		period, err2 := strconv.Atoi(words[1])
		if err == nil && err2 == nil && quota > 0 && period > 0 {
			n = min(n, quota/period)
		}
	}
	hierarchy{fstype: "cgroup2"}.each(root, func(dir string) { least(dir, "cpu.max") })
	hierarchy{name: "cpu", fstype: "cgroup", option: "cpu"}.each(root, func(dir string) { least(dir, "cpu.cfs_quota_us", "cpu.cfs_period_us") })
	return max(n, 1)
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
