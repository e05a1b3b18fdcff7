//go:build rdma

package rdma

import (
	"os"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
)

// envServers has the addresses of servers whose ports are all on this machine: comma separated, and the
// servers by spaces.
const envServers = "EVBENCH_TEST_RDMA_SERVERS"

// verbsFabric is one of real ports, for n ranks.
func verbsFabric(t *testing.T, n int) (f fabric) {
	t.Helper()
	servers := strings.Fields(os.Getenv(envServers))
	if len(servers) == 0 {
		t.Skipf("no RDMA ports: %s names none (make test-rdma does)", envServers)
	}
	for _, s := range servers[:n] {
		d := expect.Value(openDevice(strings.Split(s, ",")))(t)
		f.devices = append(f.devices, d)
	}
	return f
}

func TestVerbsContract(t *testing.T) {
	verbsFabric(t, 0)
	transporttest.Run(t, func(t *testing.T, n int, paths ...int) (out []transport.Endpoint) {
		for _, e := range verbsFabric(t, n).open(t, paths...) {
			out = append(out, e)
		}
		return out
	})
}

func TestVerbsBarrier(t *testing.T) {
	verbsFabric(t, 0)
	transporttest.RunBarrier(t, func(t *testing.T, n int, kind string) (out []transporttest.Signaller) {
		f := verbsFabric(t, n)
		f.kind = kind
		for _, e := range f.open(t) {
			out = append(out, e)
		}
		return out
	})
}

// As a user who may lock little memory.
func TestVerbsLocked(t *testing.T) {
	if os.Getenv("EVBENCH_TEST_RDMA_LOCKED") == "" {
		t.Skip("make test-rdma runs it with a limit of 64 KiB")
	}
	e := verbsFabric(t, 2).open(t)[0]
	e.Alloc(1 << 20)
	expect.Error(t, e.Post(nil), "may lock 65536 bytes")
}
