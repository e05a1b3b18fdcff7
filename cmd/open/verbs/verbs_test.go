package verbs

import (
	"testing"

	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/transport"
)

// A worker over verbs says its port behind its addresses.
func TestRDMAPeers(t *testing.T) {
	c := wire.Configure{Case: wire.Case{Peers: []wire.Peer{{Server: 3, Addrs: []string{"10.0.0.1:7000,10.1.0.1:7000 roce 4096 10.0.0.1 10.1.0.1"}}}}}
	all := expect.Value(peers(c))(t)
	expect.Equal(t, all[0].Setup, "10.0.0.1:7000", "where queue pairs are set up")
	expect.Equal(t, all[0].Port.String(), "roce 4096 10.0.0.1 10.1.0.1", "port")
	c.Peers[0].Addrs[0] = "10.0.0.1:7000"
	_, err := peers(c)
	expect.ErrorIf(t, err, "server3")
}

// Verbs are opened in the way that the facts of the transport say.
func TestTransport(t *testing.T) {
	expect.True(t, Transport().Listen != nil && !transport.Of(transport.RDMA).Launched, "opened by Listen")
}
