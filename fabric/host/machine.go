// Package host answers: what machine is this, by which of its addresses do others reach it, how
// much memory and which processors may this process use (Read, Choose, Fits, Pin, Watch); which
// server is on which host of a list (Expand, Place); which hosts cannot be used, and why (Judge);
// how does a worker get to a host, start and stop there (SSH)?
//
// It reads what the kernel shows, and what cannot be known is empty. SSH runs the OpenSSH client,
// which has its own configuration. Nothing is left on a host but the binary; secrets go through
// standard input. Speeds are Mbit/s, an MTU is bytes.
package host

import (
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

// Facts are what a machine says about itself.
type Facts struct {
	Host       string      `json:"host"`
	CPU        string      `json:"cpu"`   // model
	Cores      int         `json:"cores"` // logical, that this process may use
	Kernel     string      `json:"kernel"`
	Governor   string      `json:"governor"` // of the frequency of the processors; several, comma separated, where they differ
	Interfaces []Interface `json:"interfaces"`
}

// An Interface is a network interface.
type Interface struct {
	Name      string         `json:"name"`
	Up        bool           `json:"up"`
	MTU       int            `json:"mtu"`
	SpeedMbit int            `json:"speed_mbit"` // 0: not known
	NIC       string         `json:"nic"`        // driver, then bus and place on it; "": not a device
	Addrs     []netip.Prefix `json:"addresses"`  // in the order of the kernel
}

// Read reads the facts of this machine. Where its interfaces cannot be read, it
// returns the others with the error.
func Read() (Facts, error) {
	up, err := interfaces()
	f := read(os.DirFS("/"), up)
	f.Host, _ = os.Hostname() // a machine without a name has an empty one
	f.Cores = runtime.NumCPU()
	if f.Kernel == "" {
		f.Kernel = runtime.GOOS
	}
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

// read adds to the interfaces what the files below root say, those of /proc and
// /sys.
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
	}
	return f
}

func governor(root fs.FS) string {
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is good
	var all []string
	for _, name := range files {
		if g := text(root, name); g != "" {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// speed is 0 for what has none: the kernel says -1, or refuses to say.
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

// target is the last part of what a link leads to, or "".
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

// text returns a file without the space around it; what cannot be read is not
// known.
func text(root fs.FS, file string) string {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Available returns how many bytes of memory are free for use: of the machine, and of the
// control groups in which this process is. It is 0 where that cannot be known.
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
	return max(bytes, 1) // nothing is left, which is known
}
