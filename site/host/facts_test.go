package host

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"evbench/testing/expect"
)

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink}
}

// machine is a server with two ports, one in use, and half its processors saving power.
var machine = fstest.MapFS{
	"proc/cpuinfo":                                          file("processor\t: 0\nmodel name\t: Fast 9000\nprocessor\t: 1\nmodel name\t: Other\n"),
	"proc/meminfo":                                          file("MemTotal:       100 kB\nMemAvailable:   64 kB\n"),
	"proc/sys/kernel/ostype":                                file("Linux\n"),
	"proc/sys/kernel/osrelease":                             file("6.1.0\n"),
	"sys/class/net/ib0/speed":                               file("100000\n"),
	"sys/class/net/ib0/device":                              link("../../../0000:3b:00.0"),
	"sys/0000:3b:00.0/local_cpulist":                        file("0-15\n"),
	"sys/0000:3b:00.0/driver":                               link("../../bus/pci/drivers/mlx5_core"),
	"sys/0000:3b:00.0/subsystem":                            link("../../bus/pci"),
	"sys/class/net/virtual/speed":                           file("-1\n"),
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":  file("performance\n"),
	"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":  file("powersave\n"),
	"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": file("performance\n"),
}

func TestRead(t *testing.T) {
	got := read(machine, []Interface{{Name: "ib0", Up: true, MTU: 2044}, {Name: "virtual"}, {Name: "unknown"}})
	want := Facts{
		CPU: "Fast 9000", Kernel: "Linux 6.1.0", Governor: "performance,powersave",
		Interfaces: []Interface{
			{Name: "ib0", Up: true, MTU: 2044, SpeedMbit: 100000, CPUs: "0-15", NIC: "mlx5_core, pci 0000:3b:00.0"},
			{Name: "virtual"}, {Name: "unknown"},
		},
	}
	expect.Equal(t, got, want, "got")
	expect.Equal(t, available(machine), 64<<10, "bytes available")
}

// What a system does not show is empty.
func TestReadNothing(t *testing.T) {
	expect.Equal(t, read(fstest.MapFS{}, nil), Facts{}, "read")
	expect.Equal(t, available(fstest.MapFS{}), 0, "bytes available")
}

func TestReadHere(t *testing.T) {
	f := expect.Value(Read())(t)
	expect.True(t, f.Cores >= 1 && f.Kernel != "", "got %+v", f)
	expect.False(t, !slices.ContainsFunc(f.Interfaces, func(i Interface) bool { return i.Name != "" && i.MTU > 0 }), "no interface: %+v", f)
}

var twoPorts = Facts{Interfaces: []Interface{
	{Name: "lo", Up: true, Addrs: prefixes("127.0.0.1/8", "::1/128")},
	{Name: "eth0", Up: true, Addrs: prefixes("192.168.1.7/24", "fe80::1/64", "2001:db8::7/64")},
	{Name: "ib0", Up: true, Addrs: prefixes("10.200.0.1/32", "10.0.0.1/32", "10.1.0.1/32")},
	{Name: "ib1", Addrs: prefixes("10.2.0.1/32")},
	{Name: "six", Up: true, Addrs: prefixes("fe80::2/64", "2001:db8:1::7/64")},
	{Name: "bare", Up: true, Addrs: prefixes("fe80::3/64")},
}}

func prefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func TestChoose(t *testing.T) {
	routes := func(to string) (netip.Addr, error) {
		if to == "10.9.9.9:7777" {
			return netip.MustParseAddr("192.168.1.7"), nil
		}
		return netip.Addr{}, errors.New("network is unreachable")
	}
	network := netip.MustParsePrefix
	for _, tt := range []struct {
		name      string
		want      Want
		addresses string
		err       string
	}{
		{"several, in order", Want{Interface: "ib0"}, "10.200.0.1 10.0.0.1 10.1.0.1", ""},
		{"IPv4 where there is some", Want{Interface: "eth0"}, "192.168.1.7", ""},
		{"IPv6 where there is no other", Want{Interface: "six"}, "2001:db8:1::7", ""},
		{"network of one", Want{Network: network("192.168.0.0/16")}, "192.168.1.7", ""},
		{"network of several, not of what is down", Want{Network: network("10.0.0.0/8")}, "10.200.0.1 10.0.0.1 10.1.0.1", ""},
		{"network over two interfaces", Want{Network: network("2001:db8::/32")}, "2001:db8::7 2001:db8:1::7", ""},
		{"where a route leads", Want{Toward: "10.9.9.9:7777"}, "192.168.1.7", ""},
		{"no such interface", Want{Interface: "ib7"}, "", `no interface "ib7"; there are lo (127.0.0.1, ::1), eth0 (192.168.1.7, 2001:db8::7), ib0 (`},
		{"interface is down", Want{Interface: "ib1"}, "", "interface ib1 is down; there are"},
		{"interface without address", Want{Interface: "bare"}, "", "interface bare has no address; there are"},
		{"nothing in the network", Want{Network: network("172.16.0.0/12")}, "", "no address in 172.16.0.0/12; there are lo ("},
		{"no route", Want{Toward: "203.0.113.1:1"}, "", "leads to 203.0.113.1:1: network is unreachable; there are lo ("},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := twoPorts.choose(tt.want, routes)
			if tt.err != "" {
				expect.MustTrue(t, err != nil && strings.Contains(err.Error(), tt.err), "got %v, %v; want an error with %q", got, err, tt.err)
				return
			}
			var all []string
			for _, a := range got {
				all = append(all, a.String())
			}
			expect.True(t, err == nil && strings.Join(all, " ") == tt.addresses, "got %v, %v; want %s", all, err, tt.addresses)
		})
	}
}

func TestChooseTowardHere(t *testing.T) {
	got, err := Facts{}.Choose(Want{Toward: "127.0.0.1:7"})
	expect.True(t, err == nil && len(got) == 1 && got[0].IsLoopback(), "got %v, %v", got, err)
	_, err = (Facts{}).Choose(Want{Toward: "no port"})
	expect.Error(t, err, "no interfaces")
}

func TestOf(t *testing.T) {
	expect.Equal(t, twoPorts.Of(netip.MustParseAddr("10.1.0.1")).Name, "ib0", "twoPorts.Of")
	expect.Equal(t, twoPorts.Of(netip.MustParseAddr("10.1.0.2")).Name, "", "twoPorts.Of")
}

func TestParseCPUs(t *testing.T) {
	for _, tt := range []struct {
		list string
		want []int
		err  string
	}{
		{"0", []int{0}, ""},
		{"0-3", []int{0, 1, 2, 3}, ""},
		{"7,0-2,1-3", []int{0, 1, 2, 3, 7}, ""},
		{"1023", []int{1023}, ""},
		{"1024", nil, "the highest is 1023"},
		{"0-99999", nil, "the highest is 1023"},
		{"3-1", nil, "such as 0-15,32"},
		{"", nil, "such as 0-15,32"},
		{"1,", nil, "such as 0-15,32"},
		{"-1", nil, "such as 0-15,32"},
		{"1-2-3", nil, "such as 0-15,32"},
		{"a", nil, "such as 0-15,32"},
	} {
		got, err := parseCPUs(tt.list)
		expect.False(t, !slices.Equal(got, tt.want) || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)),
			"ParseCPUs(%q) = %v, %v; want %v, %q", tt.list, got, err, tt.want, tt.err)
	}
}

// FuzzParseCPUs: processors rise, there are no more than there can be, and what is written of them names the same.
func FuzzParseCPUs(f *testing.F) {
	f.Add("0-15,32")
	f.Add("1023,0,5-5")
	f.Add("0-1023" + strings.Repeat(",0-1023", 20))
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := parseCPUs(list)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		expect.MustFalse(t, len(cpus) == 0 || cpus[0] < 0 || cpus[len(cpus)-1] > maxCPU || !slices.IsSorted(cpus) || len(slices.Compact(slices.Clone(cpus))) != len(cpus),
			"%q: %v", list, cpus)
		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
		again, err := parseCPUs(text)
		expect.MustTrue(t, err == nil && slices.Equal(again, cpus), "%q: %v, then %v, %v", list, cpus, again, err)
	})
}

// FuzzRead: whatever the kernel says, facts are on one line each, and no number is negative.
func FuzzRead(f *testing.F) {
	f.Add("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n", "MemTotal: 5 kB\nMemAvailable:  1234 kB\n", "100000\n", "performance\n")
	f.Add("model name:\x00\n", "MemAvailable: 99999999999999999999 kB", "-1\n", "")
	f.Fuzz(func(t *testing.T, cpuinfo, meminfo, speed, governor string) {
		file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
		root := fstest.MapFS{
			"proc/cpuinfo": file(cpuinfo), "proc/meminfo": file(meminfo), "sys/class/net/eth0/speed": file(speed),
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": file(governor),
		}
		facts := read(root, []Interface{{Name: "eth0"}})
		expect.MustTrue(t, facts.Interfaces[0].SpeedMbit >= 0 && !strings.Contains(facts.CPU, "\n") && len(facts.CPU) <= len(cpuinfo), "%+v", facts)
		n := available(root)
		expect.MustFalse(t, n%1024 != 0 && n != 1, "%d bytes of KiB", n)
	})
}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		need      float64
		available uint64
		fits      bool
	}{
		{0, 0, true}, {math.MaxFloat64, 0, true}, // not known
		{900, 1000, true}, {901, 1000, false}, {math.MaxFloat64, 1 << 40, false},
	} {
		err := fits("plans need", tt.need, "make fewer", tt.available)
		if _, memory := errors.AsType[*MemoryError](err); tt.fits != (err == nil) || !tt.fits && !memory {
			t.Errorf("%v of %d: %v", tt.need, tt.available, err)
		}
	}
	if err := fits("plans need", 2<<30, "make fewer", 1<<30); fmt.Sprint(err) != "plans need 2GiB, this machine has 1GiB free, and evbench takes at most 90 % of that: make fewer" {
		t.Error(err)
	}
}

// Networks that hosts may share: each once, without loopback, addresses of the link alone, and interfaces that are down.
func TestNetworks(t *testing.T) {
	p := netip.MustParsePrefix
	f := Facts{Interfaces: []Interface{
		{Name: "lo", Up: true, Addrs: []netip.Prefix{p("127.0.0.1/8"), p("::1/128")}},
		{Name: "eth0", Up: true, Addrs: []netip.Prefix{p("10.1.0.7/16"), p("169.254.1.1/16"), p("fd00::7/64")}},
		{Name: "eth1", Up: true, Addrs: []netip.Prefix{p("10.1.0.8/16")}},
		{Name: "eth2", Addrs: []netip.Prefix{p("10.3.0.7/16")}},
		{Name: "ib0", Up: true, Addrs: []netip.Prefix{p("10.2.0.7/24")}},
	}}
	expect.Equal(t, fmt.Sprint(f.Networks()), "[10.1.0.0/16 10.2.0.0/24]", "networks")
}
