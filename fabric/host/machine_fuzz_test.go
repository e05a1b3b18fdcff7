package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"evbench/internal/expect"
)

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
		if len(cpus) == 0 || cpus[0] < 0 || cpus[len(cpus)-1] > maxCPU || !slices.IsSorted(cpus) || len(slices.Compact(slices.Clone(cpus))) != len(cpus) {
			t.Fatalf("%q: %v", list, cpus)
		}
		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
		if again, err := parseCPUs(text); err != nil || !slices.Equal(again, cpus) {
			t.Fatalf("%q: %v, then %v, %v", list, cpus, again, err)
		}
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
		if n := available(root); n%1024 != 0 && n != 1 {
			t.Fatalf("%d bytes of KiB", n)
		}
	})
}
