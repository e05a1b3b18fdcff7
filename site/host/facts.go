// Package host describes this machine, and runs commands on others: the addresses by which others
// reach this machine, the memory and processors that this process may use (Read, Choose, Fits, Pin,
// Watch), the assignment of servers to a list of hosts (Expand, Place), the unusable hosts (Judge),
// and how a worker is copied, started and stopped (SSH).
//
// It reads the kernel's files; unknown values are empty. SSH runs the OpenSSH client, which has its
// own configuration. Only the binary stays on a host; secrets go through standard input. Speeds are
// Mbit/s, an MTU is bytes.
package host

import (
	"cmp"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// Facts describe a machine.
type Facts struct {
	Host       string      `json:"host"`
	CPU        string      `json:"cpu"`   // model
	Cores      int         `json:"cores"` // logical, available to this process
	Kernel     string      `json:"kernel"`
	Governor   string      `json:"governor"` // of the processors' frequency; if they differ, several, comma separated
	Interfaces []Interface `json:"interfaces"`
}

type Interface struct {
	Name      string         `json:"name"`
	Up        bool           `json:"up"`
	MTU       int            `json:"mtu"`
	SpeedMbit int            `json:"speed_mbit"`           // 0: not known
	CPUs      string         `json:"local_cpus,omitempty"` // processors near it, a list such as 0-15; "": not known
	NIC       string         `json:"nic"`                  // driver, then bus and address on it; "": not a device
	Addrs     []netip.Prefix `json:"addresses"`            // in the order of the kernel
}

// Read reads the facts of this machine. If its interfaces cannot be read, it returns the other
// facts with the error.
func Read() (Facts, error) {
	up, err := interfaces()
	f := read(os.DirFS("/"), up)
	f.Host, _ = os.Hostname() // empty for a machine without a name
	f.Cores = Processors()
	f.Kernel = cmp.Or(f.Kernel, runtime.GOOS)
	return f, err
}

func interfaces() ([]Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("interfaces of this machine: %w", err)
	}
	out := make([]Interface, 0, len(all))
	for _, i := range all {
		x := Interface{Name: i.Name, Up: i.Flags&net.FlagUp != 0, MTU: i.MTU}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of interface %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				x.Addrs = append(x.Addrs, p)
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// read adds to the interfaces the facts in files below root, in /proc and /sys.
func read(root fs.FS, interfaces []Interface) Facts {
	f := Facts{
		CPU:        field(root, "proc/cpuinfo", "model name"),
		Kernel:     strings.TrimSpace(text(root, "proc/sys/kernel/ostype") + " " + text(root, "proc/sys/kernel/osrelease")),
		Governor:   governor(root),
		Interfaces: slices.Clone(interfaces),
	}
	for i := range f.Interfaces {
		x := &f.Interfaces[i]
		x.SpeedMbit, x.NIC = speed(root, x.Name), nic(root, x.Name)
		x.CPUs = text(root, path.Join("sys/class/net", x.Name, "device/local_cpulist"))
	}
	return f
}

func governor(root fs.FS) string {
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is valid
	var all []string
	for _, name := range files {
		if g := text(root, name); g != "" {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// speed is 0 for an interface without one: the kernel returns -1 or an error.
func speed(root fs.FS, name string) int {
	var n int
	if _, err := fmt.Sscan(text(root, path.Join("sys/class/net", name, "speed")), &n); err != nil {
		return 0
	}
	return max(n, 0)
}

// nic returns, for example, "mlx5_core, pci 0000:3b:00.0".
func nic(root fs.FS, name string) string {
	device := path.Join("sys/class/net", name, "device")
	driver := target(root, path.Join(device, "driver"))
	bus := strings.TrimSpace(target(root, path.Join(device, "subsystem")) + " " + target(root, device))
	if driver == "" || bus == "" {
		return driver + bus
	}
	return driver + ", " + bus
}

// target is the last element of the target of a link, or "".
func target(root fs.FS, name string) string {
	to, err := fs.ReadLink(root, name)
	if err != nil {
		return ""
	}
	return path.Base(to)
}

// field returns the value of the first line "name : value" of a file, or "".
func field(root fs.FS, file, name string) string {
	for line := range strings.Lines(text(root, file)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// text returns a file without surrounding space; "" if it cannot be read.
func text(root fs.FS, file string) string {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Available returns how many bytes of memory are free for use: on the machine, and within the
// control groups of this process. It is 0 if that is unknown.
func Available() uint64 { return available(os.DirFS("/")) }

func available(root fs.FS) uint64 {
	var kib uint64
	_, err := fmt.Sscanf(field(root, "proc/meminfo", "MemAvailable"), "%d kB", &kib)
	bytes, limited := allowance(root)
	switch {
	case err != nil && !limited:
		return 0
	case err == nil && (!limited || kib<<10 < bytes):
		bytes = kib << 10
	}
	return max(bytes, 1) // nothing left; 0 would mean unknown
}
