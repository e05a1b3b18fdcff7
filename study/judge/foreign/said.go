package foreign

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/unit"
)

// said adds to a result what its log says of the ranks beside the output itself: the command that started them, and
// who runs where. What the output says counts first.
func (r *Result) said(log []byte) {
	c := commandIn(log, r.What)
	if r.Ranks == 0 {
		r.Ranks = c.ranks
	}
	if r.Ranks == c.ranks || c.ranks == 0 {
		r.OnHost = c.onHost
	}
	if r.Hosts != nil || r.Pairs != nil || r.Format == Own {
		return
	}
	switch hosts := hostsIn(log); {
	case hosts == nil:
	case r.Ranks == 0 || r.Ranks == len(hosts):
		r.Hosts, r.Ranks = hosts, len(hosts)
	default:
		r.note("the log has hosts of %d ranks, the result is of %d: the hosts are not taken from there", len(hosts), r.Ranks)
	}
}

// A command is how a launcher was called: 0 where it does not say.
type command struct {
	ranks, onHost int   // in all, on each host
	last          int64 // the largest message of osu_alltoall's -m
}

// launcher matches the name of one in a command, and program the benchmarks that it starts.
var (
	launcher = pattern(`(?:^|[\s/])(mpirun|mpiexec(?:\.\w+)?|orterun|prterun|prun|srun|aprun|jsrun|flux run|ibrun)\s`)
	program  = pattern(`(?:^|[\s/])(osu_\w+|IMB-\S+|[a-z_]+_perf\S*|mpiGraph)(?:\s|$)`)
)

// commandIn returns the command in a log that started the program of a result, as a shell prints it (set -x), or a user; of
// several, and of a command with several programs, nothing is taken.
func commandIn(log []byte, what string) (c command) {
	plain := strings.NewReplacer("_", "", "-", "")
	what, _, _ = strings.Cut(strings.ReplaceAll(plain.Replace(what), ",", " "), " ")
	found := 0
	for line := range bytes.Lines(log) {
		text := strings.TrimSpace(string(line))
		at, to := launcher().FindStringSubmatchIndex(text), program().FindStringSubmatchIndex(text)
		if at == nil || to == nil || to[0] < at[1]-1 || !strings.Contains(plain.Replace(text[to[2]:to[3]]), what) {
			continue
		}
		if found++; found > 1 || strings.Contains(text, " : ") {
			return command{}
		}
		c.options(text[at[2]:at[3]], strings.Fields(text[at[1]:to[0]]))
		c.last = lastOf(strings.Fields(text[to[0]:]))
	}
	return c
}

// Options of launchers for the number of ranks, and of those on a host, which -N is where it is not that of hosts.
var (
	allRanks  = []string{"-np", "--np", "-n", "--n", "-c", "--ntasks"}
	hostRanks = []string{"-npernode", "--npernode", "-ppn", "--ppn", "-perhost", "--perhost", "--ntasks-per-node", "--tasks-per-node"}
	perNode   = pattern(`^ppr:(\d+):(?:node|host)\b`)
)

func (c *command) options(launcher string, args []string) {
	own, hosts := launcher == "srun" || strings.HasPrefix(launcher, "flux"), 0 // -N are hosts, -c processors
	for i, arg := range args {
		name, value, given := strings.Cut(joined().ReplaceAllString(arg, "$1=$2"), "=")
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		n, err := strconv.Atoi(value)
		if m := perNode().FindStringSubmatch(value); m != nil && strings.HasSuffix(name, "map-by") {
			c.onHost, _ = strconv.Atoi(m[1])
		}
		switch {
		case err != nil || n < 1:
		case slices.Contains(allRanks, name) && !(own && name == "-c"):
			c.ranks = n
		case slices.Contains(hostRanks, name) || name == "-N" && !own:
			c.onHost = n
		case own && (name == "-N" || name == "--nodes"):
			hosts = n
		}
	}
	if hosts > 0 && c.onHost == 0 && c.ranks%hosts == 0 {
		c.onHost = c.ranks / hosts
	}
}

// joined is an option with its number, such as -n64.
var joined = pattern(`^(-n|-np|-N)(\d+)$`)

// lastOf returns the largest message of -m MIN:MAX or -m MAX.
func lastOf(args []string) int64 {
	for i, arg := range args {
		value, given := strings.CutPrefix(arg, "-m")
		if value == "" && i+1 < len(args) {
			value = args[i+1]
		}
		if _, after, both := strings.Cut(value, ":"); both {
			value = after
		}
		if n, err := unit.ParseBytes(value + "B"); given && err == nil {
			return int64(n)
		}
	}
	return 0
}

// Who runs where, as programs and launchers print it: srun -l hostname; I_MPI_DEBUG=4 of Intel MPI; programs that greet
// ("Hello from rank 3, thread 0, on node001", "Hello world from processor node001, rank 3 out of 16"); hydra's map; srun -v.
var rankLines = []func() *regexp.Regexp{
	pattern(`(?m)^[ \t]*\[?(?P<ranks>\d+)(?:\]|:|\]<stdout>:)[ \t]*(?P<host>[A-Za-z][\w.-]*)[ \t\r]*$`),
	pattern(`(?m)MPI startup\(\):[ \t]+(?P<ranks>\d+)[ \t]+\d+[ \t]+(?P<host>[\w.-]+)`),
	pattern(`(?im)\b(?:rank|process|task|PE)[ #=:]*(?P<ranks>\d+)\b[^\n]{0,60}?\b(?:on|host|hostname|node|processor)[ =:]+(?:node |host |processor )?(?P<host>[A-Za-z][\w.-]*\w)`),
	pattern(`(?im)\b(?:on|from|host|hostname|node|processor)[ =:]+(?P<host>[A-Za-z][\w.-]*\w)[,:]? (?:rank|process|task|PE)[ #=:]*(?P<ranks>\d+)\b`),
	pattern(`\((?P<host>[A-Za-z][\w.-]*):(?P<ranks>[\d,-]+)\)`),
	pattern(`on host (?P<host>[\w.-]+), \d+ tasks?: \[?(?P<ranks>[\d,-]+)\]?`),
}

// hostsIn returns the hosts of the ranks where a log has a map, or names the host of each rank once; nil: it does not.
func hostsIn(log []byte) []string {
	if entries := hostlist.Among(bytes.NewReader(log)); entries != nil {
		var hosts []string
		for _, x := range entries {
			for _, name := range x.Names {
				hosts = append(hosts, slices.Repeat([]string{name}, x.Slots)...)
			}
		}
		return hosts
	}
	for _, re := range rankLines {
		at := map[int]string{}
		for _, m := range re().FindAllSubmatch(log, hostlist.Max) {
			ranks, _ := hostlist.Expand("[" + string(m[re().SubexpIndex("ranks")]) + "]")
			for _, r := range ranks {
				if rank, err := strconv.Atoi(r); err == nil {
					at[rank] = string(m[re().SubexpIndex("host")])
				}
			}
		}
		if hosts := inOrder(at); hosts != nil {
			return hosts
		}
	}
	return nil
}

// inOrder returns the hosts of ranks 0 to the last, nil where one is missing, or all say the same.
func inOrder(at map[int]string) (hosts []string) {
	several := false
	for rank := range len(at) {
		if !strings.ContainsAny(at[rank], "0123456789") || device().MatchString(at[rank]) {
			return nil // a word
		}
		hosts = append(hosts, at[rank])
		several = several || at[rank] != hosts[0]
	}
	if !several {
		return nil
	}
	return hosts
}

// device are names that ranks greet with beside those of hosts.
var device = pattern(`(?i)^(?:gpu|cuda|device|core|cpu|socket|numa|thread|port|mlx|step|v)[_-]?\d`)
