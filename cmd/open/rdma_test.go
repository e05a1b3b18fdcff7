package open

import (
	"testing"

	"evbench/controller/wire"
	"evbench/testing/expect"
)

// A worker over verbs says its port behind its addresses.
func TestRDMAPeers(t *testing.T) {
	c := wire.Configure{Case: wire.Case{Peers: []wire.Peer{{Server: 3, Addrs: []string{"10.0.0.1:7000,10.1.0.1:7000 roce 4096 10.0.0.1 10.1.0.1"}}}}}
	peers := expect.Value(rdmaPeers(c))(t)
	expect.Equal(t, peers[0].Setup, "10.0.0.1:7000", "where queue pairs are set up")
	expect.Equal(t, peers[0].Port.String(), "roce 4096 10.0.0.1 10.1.0.1", "port")
	c.Peers[0].Addrs[0] = "10.0.0.1:7000"
	_, err := rdmaPeers(c)
	expect.ErrorIf(t, err, "server3")
}
