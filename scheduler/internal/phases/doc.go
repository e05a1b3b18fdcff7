// Package phases gives the messages of a split phases and servers, in three edge colourings of bipartite
// multigraphs. Each rests on König's theorem: as many colours suffice as the fullest node has edges.
//
//   - color (graph.go): nodes are the cables up and the cables down, an edge is a message
//     between leaves, a colour a phase. No node has more than max(S-1, K) edges.
//   - Lift (lift.go): nodes are phases and the destinations of a leaf, a colour a destination server;
//     then phases and destination servers, a colour a source server.
//
// A colouring of the first alone could let a leaf send more messages in a phase than it has servers, with
// more cables than servers, or hear more. So the graph is filled up until it is regular, by edges that
// stand for messages within the leaf and for cables at rest: in a regular graph each colour is a perfect
// matching, and as many cables rest in each phase as must.
//
// Columns (columns.go) are what remains where few paths fix spine and destination of each message before
// its phase: only the source servers are free. A Rotation (rotation.go) is such a schedule in closed form.
package phases
