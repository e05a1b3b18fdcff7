package opensm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"evbench/companion"
	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
)

// The files of a directory.
const (
	LFTsFile  = "evbench.lfts" // the tables, for lfts_file of OpenSM
	PathsFile = "paths.csv"    // the LID of each message, for the application
	LIDsFile  = "guid2lid"     // for OpenSM's cache directory, before it starts
	ConfFile  = "opensm.conf"  // lines for OpenSM's configuration
)

type file struct {
	Name string
	Text []byte // nil: the file must not exist
}

// texts returns all files, for a directory whose name OpenSM's configuration will contain. They are
// checked again as OpenSM would read them.
func (r *Routes) texts(dir string) ([]file, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir) // OpenSM's working directory is another
	if err != nil {
		return nil, err
	}
	out := []file{{Name: LFTsFile}, {Name: PathsFile}, {Name: LIDsFile}, {Name: ConfFile}}
	for i, write := range []func(io.Writer) error{
		r.Tables.WriteDump, r.writePaths,
		func(w io.Writer) error { return netfile.WriteGUID2LID(w, r.Net) },
		func(w io.Writer) error { return r.writeConf(w, filepath.Join(dir, LFTsFile)) },
	} {
		if out[i].Name == PathsFile && r.Plan == nil {
			continue // no such file; one of an earlier plan is out of date
		}
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, err
		}
		out[i].Text = b.Bytes()
	}
	back, err := lft.ReadDump(bytes.NewReader(out[0].Text), r.Net)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", LFTsFile, err)
	}
	if diff := differences(r.Tables, back); len(diff) > 0 {
		return nil, fmt.Errorf("%s: reads otherwise than it was written: %s", LFTsFile, diff[0])
	}
	return out, nil
}

func (r *Routes) tables() *lft.Tables { return r.Tables }

// Files implements companion.Tables.
func (r *Routes) Files() ([]companion.File, error) {
	return (&former{files: []file{{Name: LFTsFile}}, held: r.Tables}).Files()
}

func write(dir string, files []file) error {
	var all []atomicfile.File
	for _, f := range files {
		if f.Text == nil {
			continue
		}
		all = append(all, atomicfile.File{Name: filepath.Join(dir, f.Name), Write: func(w io.Writer) error {
			_, err := w.Write(f.Text)
			return err
		}})
	}
	return atomicfile.WriteAll(all...)
}

// writeConf writes the lines of OpenSM's configuration that these tables need. Without no_fallback
// OpenSM would silently route by minhop whenever it cannot read the file. By default it would
// buffer its log, which reports link changes.
func (r *Routes) writeConf(w io.Writer, lfts string) error {
	of := "tables of the engine " + r.Tables.Engine
	if r.Plan != nil {
		of = "the plan " + r.Plan.Hash()
	}
	_, err := fmt.Fprintf(w, "# for %s\nrouting_engine file,no_fallback\nlfts_file %s\nlmc %d\nforce_log_flush TRUE\n", of, lfts, r.lmc)
	return err
}

// writePaths writes, for each message, the LID that the sender must use: "phase,src,dst,dlid",
// servers by position, sorted by phase and source. A plan without a schedule has - for the phase.
func (r *Routes) writePaths(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "phase,src,dst,dlid")
	t := r.Plan.Tree
	if r.Plan.Schedule == nil {
		for src := range t.Servers() {
			for dst := range t.Servers() {
				if src != dst && !r.without(src, dst) {
					fmt.Fprintf(out, "-,%d,%d,%d\n", t.Position(src), t.Position(dst), r.dlid(src, dst))
				}
			}
		}
		return out.Flush()
	}
	for m := range r.Plan.Schedule.All() {
		fmt.Fprintf(out, "%d,%d,%d,%d\n", m.Phase, t.Position(m.Src), t.Position(m.Dst), r.dlid(m.Src, m.Dst))
	}
	return out.Flush()
}

func (r *Routes) without(src, dst int) bool {
	t := r.Plan.Tree
	return t.Leaf(src) != t.Leaf(dst) && r.Plan.Path(src, dst) < 0
}

// Use says how much of a subnet's capacity the tables take.
type Use struct {
	LMC      int  `json:"lmc"`
	Need     int  `json:"lmc_needed"`
	Kept     bool `json:"lids_kept"`
	LIDs     int  `json:"lids"`
	MaxLID   int  `json:"max_lid"`
	Entries  int  `json:"lft_entries"`      // of the switch with the most, without its own LID
	Others   int  `json:"others,omitempty"` // nodes that have LIDs and are no hosts, such as aggregation nodes
	Capacity int  `json:"capacity"`
}

func (u *Use) WriteText(w io.Writer) {
	fmt.Fprintf(w, "LMC %d (the plan needs %d): %s LIDs up to %s of %s, %s LFT entries\n",
		u.LMC, u.Need, show.Commas(u.LIDs), show.Commas(u.MaxLID), show.Commas(u.Capacity-1), show.Commas(u.Entries))
	others := ""
	if u.Others > 0 {
		others = fmt.Sprintf(", those to %s too", show.Plural(u.Others, "aggregation node, router or the like", "aggregation nodes, routers and the like"))
	}
	fmt.Fprintf(w, "every route arrives%s, and every message takes the plan's path\n", others)
	if !u.Kept {
		fmt.Fprintf(w, "the LIDs are new: start OpenSM with %s in its cache directory and the lines of %s\n", LIDsFile, ConfFile)
	}
}

func (r *Routes) Use() Use {
	u := Use{LMC: r.lmc, Need: r.need, Kept: r.kept, MaxLID: r.Net.MaxLID(), Capacity: r.capacity,
		Others: r.Net.Others()}
	for v := range network.Node(r.Net.Nodes() + r.Net.Others()) {
		u.LIDs += r.Net.LIDs(v)
	}
	for i := range r.Net.Switches() {
		n := lists.CountIf(r.Tables.Row(i), func(p uint8) bool { return p != lft.NoPort && p != 0 })
		u.Entries = max(u.Entries, n)
	}
	return u
}

func differences(want, have *lft.Tables) (out []string) {
	for i := range want.Net.Switches() {
		out = append(out, differencesAt(want, have, i)...)
	}
	return out
}

// differencesAt lists the differences between tables of one switch. A switch without a cable has
// none, because it can be neither read nor used.
func differencesAt(want, have *lft.Tables, i int) (out []string) {
	s := want.Net.Switch(i)
	if want.Net.Isolated(s) {
		return nil
	}
	held := have.Row(i)
	for lid, p := range want.Row(i) {
		if p != held[lid] {
			out = append(out, fmt.Sprintf("%s, LID %d: %s, not %s", want.Net.Info(s).Name, lid, port(held[lid]), port(p)))
		}
	}
	return out
}

func port(p uint8) string {
	if p == lft.NoPort {
		return "no entry"
	}
	return fmt.Sprintf("port %d", p)
}
