package node

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/parallel"
	"evbench/site/host"
)

// Self reads what this machine says, and copies memory for a second.
func Self(f host.Facts, pinned string, addresses []string) Node {
	n := Read(f, os.DirFS("/"), firmwareOf, pinned, addresses)
	n.CopyGB = copyRate(f.Cores, host.Usable(), time.Second)
	return n
}

// firmwareOf is the version in an adapter, as ethtool -i has it; "" where its driver does not say.
func firmwareOf(name string) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, name)
	if err != nil {
		return ""
	}
	version := unix.ByteSliceToString(info.Fw_version[:])
	if strings.EqualFold(version, "N/A") {
		return ""
	}
	return version
}

const (
	parts     = 5         // of the time: the best counts, as others may run meanwhile
	leastCopy = 32 << 20  // bytes of a processor's memory
	leastAll  = 256 << 20 // and of all: more than caches hold
)

// copyRate returns how many GB/s all of n processors together read and write when each copies memory to memory for so long:
// the best of some parts of it. It takes at most an eighth of the usable bytes; with less than caches hold, or where
// usable is not known (0), it returns 0.
func copyRate(n int, usable uint64, lasts time.Duration) float64 {
	each := max(leastCopy, leastAll/n)
	if uint64(n*each) > usable/8 {
		return 0
	}
	blocks := make([][]byte, n)
	parallel.Each(n, n, func(_, i int) { // each touches its own, so that it is near
		blocks[i] = make([]byte, each)
		for at := 0; at < each; at += 4096 {
			blocks[i][at] = 1
		}
	})
	best := 0.0
	for range parts {
		took := make([]float64, n) // bytes a second
		parallel.Each(n, n, func(_, i int) {
			began, moved := time.Now(), 0
			for time.Since(began) < lasts/parts {
				copy(blocks[i][each/2:], blocks[i][:each/2])
				moved += each // half is read, half is written
			}
			took[i] = float64(moved) / time.Since(began).Seconds()
		})
		sum := 0.0
		for _, x := range took {
			sum += x
		}
		best = max(best, sum/1e9)
	}
	return best
}
