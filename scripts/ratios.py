#!/usr/bin/env python3
"""Draws the ratio of each case to the control, with its 95 % interval, from the folder of a run.

ratios.py RUN [FIGURE]: prints the table and writes FIGURE (ratios.png), of the kind that its ending says. Needs pandas and
matplotlib (Debian: python3-pandas python3-matplotlib).
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd


def ratios(run):
    """Returns a row for each case with a ratio; low and high are missing where it has too few rounds, and of simulated runs."""
    summary = json.loads((pathlib.Path(run) / "summary.json").read_text())
    columns = ["ratio_to_control", "estimate.lo", "estimate.hi", "predicted_ratio", "verdict", "estimate.of"]
    cases = pd.json_normalize(summary["cases"]).set_index("name").reindex(columns=columns)
    cases.loc[cases["estimate.of"] != "ratio_to_control", ["estimate.lo", "estimate.hi"]] = None
    cases = cases[cases["ratio_to_control"] > 0].drop(columns="estimate.of")
    return cases.rename(columns={"estimate.lo": "low", "estimate.hi": "high"}).astype({"low": float, "high": float})


def draw(table, figure):
    """Draws medians with the intervals that they have, and predictions as circles."""
    y = list(range(len(table), 0, -1))
    fig, ax = plt.subplots(figsize=(7, 1.2 + 0.4 * len(table)), layout="constrained")
    ratio = table["ratio_to_control"]
    ax.errorbar(ratio, y, xerr=[ratio - table["low"], table["high"] - ratio], fmt="s", capsize=4, label="measured, 95 % interval (none: too few rounds)")
    ax.plot(table["predicted_ratio"], y, "o", fillstyle="none", color="black", label="predicted")
    ax.set(yticks=y, yticklabels=table.index, xlabel="ratio to control", xlim=(0, None))
    ax.legend(loc="best")
    fig.savefig(figure)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: ratios.py RUN [FIGURE]")
    try:
        table = ratios(sys.argv[1])
    except (OSError, ValueError, KeyError) as err:
        sys.exit(f"{sys.argv[1]}: no results of a run: {err}")
    if table.empty:
        sys.exit(f"{sys.argv[1]}: no case has a ratio to a control")
    print(table.to_string())
    draw(table, sys.argv[2] if len(sys.argv) == 3 else "ratios.png")
