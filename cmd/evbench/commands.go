package main

import (
	_ "embed" // of the commands
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/cmd/shards"
	"evbench/failover"
	"evbench/internal/cmdline"
	"evbench/internal/lists"
	"evbench/model/sweep"
	"evbench/scenario"
	"evbench/scenarios"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/study/judge/foreign"
	"evbench/transport"
	"evbench/view/compare"
	"evbench/view/figure"
	"evbench/view/live"
	"evbench/view/plandiff"
)

//go:embed commands.txt
var described string

func tasks() []cmdline.Task {
	return cmdline.Description{
		Text: described, Do: actions, Groups: map[string][]cli.Flag{"scenario": scenarioFlags()},
		Words: map[string]string{
			"figures": join(compare.Figures), "regressible": strings.Join(plandiff.Regressible, ","), "formats": join(foreign.Formats()),
			"trees": join(known.Engines.Names()), "schedules": join(schedules.Names()), "engines": join(engines.Names()),
			"policies": join(failover.Policies()), "engine list": enginesHelp(),
			"hold": failover.DefaultHold.String(), "port": fmt.Sprint(scenario.DefaultDataPort),
			"transports": join(transport.Names()), "joinable": strings.Join(transport.Names(), "|"),
		},
		First: map[string]cmdline.Words{
			"examples": scenarios.Examples, "new": kinds, "completion": shellNames, "schema": schemaNames,
			"plot": func() []string { return append([]string{"list"}, figure.Names()...) },
		},
		Values: map[string]cmdline.Words{
			"example": scenarios.Examples, "schedule": schedules.Names, "routing": known.Routings, "engine": engines.Names, "fabric": scenario.Kinds,
		},
	}.Tasks()
}

// actions are the actions of commands. Those that compute may be abandoned when a signal arrives.
var actions = map[string]cli.ActionFunc{
	"run": runAction, "watch": watchAction, "sim": swept(simAction), "accuracy": accuracyAction, "validate": computing(validateAction),
	"new": computing(newAction), "examples": computing(examplesAction), "schema": computing(schemaAction),

	"report": computing(reportAction), "plot": computing(plotAction), "compare": computing(compareAction), "judge": computing(judgeAction),
	"why": computing(whyAction), "trace": computing(traceAction), "results export": exportAction,

	"paths": pathsAction, "plan": computing(planAction), "verify": computing(verifyAction), "diff": computing(diffAction), "whatif": interruptible(swept(whatifAction)), "merge": interruptible(shards.Merge),

	"topo show": computing(topoShowAction), "topo convert": computing(topoConvertAction),
	"routes compute": computing(routesComputeAction), "routes check": computing(routesCheckAction), "routes diff": computing(routesDiffAction),
	"routes export": computing(routesExportAction), "routes install": routesInstallAction, "routes undo": routesUndoAction, "routes follow": routesFollowAction, "routes jobs": routesJobsAction,
	"failures stats": computing(statsAction), "failures replay": computing(replayAction), "failures restore": restoreAction,

	"lab doctor": doctorAction, "lab up": labUpAction, "lab exec": labExecAction, "lab down": labDownAction,
	"mpi wrap": mpiWrapAction, "mpi options": mpiOptionsAction, "host": hostAction, "controller": controllerAction, "worker": workerAction,

	"completion": computing(completionAction), "man": computing(manAction), "version": versionAction,
}

// swept is the action of a command whose items can be dealt to shards.
func swept(action func(*cli.Context, *sweep.Sweep) error) cli.ActionFunc {
	return shards.Program{Version: version, Terminal: func(w io.Writer) *live.Terminal { return newTerminal(w, false) }}.Action(action)
}

func init() { cli.HelpPrinter = cmdline.PrintHelp }

func join[S ~string](names []S) string {
	return strings.Join(lists.Map(names, func(n S) string { return string(n) }), ", ")
}

func enginesHelp() string {
	var b strings.Builder
	b.WriteString("\nEngines:")
	for _, e := range engines.All() {
		fmt.Fprintf(&b, "\n  %-15s %s", e.Name, e.Text)
	}
	return b.String()
}

func scenarioFlags() (flags []cli.Flag) {
	for _, f := range scenario.Flags() {
		if f.Lasts {
			flags = append(flags, &cli.DurationFlag{Name: f.Name, Usage: f.Usage})
		} else {
			flags = append(flags, &cli.StringFlag{Name: f.Name, Usage: f.Usage})
		}
	}
	return flags
}
