"""Background subtraction and shadow removal on public clips with ground truth, and the speed beside OpenCV's MOG2.

`make clips` sets up the packages and writes docs/clips.md. The setting is the same for all clips.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from measure.clips import faces, mog2
from measure.clips.footage import Footage, hall, long_clip, switched, with_masks
from measure.clips.report import DEFAULT, MOG2, PCP, SWITCHED, TAE, Outcome, Summaries, markdown, scores
from measure.machine import load_average
from measure.options import absolute, add_output, add_program, publish
from measure.paths import data_folder
from measure.processes import say
from measure.program import Program, Report, value
from measure.resident import MB_PER_MIB, watch

HELP = "foreground masks, backgrounds and shadows beside ground truth"
LONG = (10_000, 240, 320)
RUNS = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--data", type=absolute, help="folder of the public data sets (STERADIAN_DATA)")
    add_program(parser)
    add_output(parser)


def separate(program: Program, footage: Footage, folder: Path, *options: str) -> Report:
    """The summary of `background` on a clip."""
    settings = ("--ground-truth", footage.ground_truth, "--no-videos", *options)
    summary = program.summary("background", footage.clip, folder / "out", *settings)
    say(f"{footage.name} {' '.join(options)}: {scores(summary)}")
    return summary


def all_masks(program: Program, clips: list[Footage], folder: Path) -> dict[str, Summaries]:
    """The summaries of all clips with masks under all settings."""
    tae = ("--method", "tae", "--cosine", "signed", "-d", "5")
    return {
        DEFAULT: {clip.name: separate(program, clip, folder) for clip in clips},
        SWITCHED: {clip.name: separate(program, switched(clip, folder), folder) for clip in clips},
        PCP: {clip.name: separate(program, clip, folder, "--method", "pcp") for clip in clips},
        TAE: {clip.name: separate(program, clip, folder, *tae) for clip in clips},
        MOG2: {clip.name: {"ground_truth": mog2.scores(clip)} for clip in clips},
    }


def memory_mb(program: Program, folder: Path) -> float:
    """Peak anonymous memory of a long clip, in MB of 1e6 bytes."""
    clip = folder / "long.npy"
    long_clip(clip, *LONG)
    mebibytes, _ = watch([program.path, "background", clip, "-o", folder / "long", "--no-videos"])
    clip.unlink()
    return mebibytes * MB_PER_MIB


def demo(program: Program, folder: Path) -> dict[str, float]:
    """PSNR of the background of the built-in clip by method."""
    out = folder / "demo"
    program.run("demo", "-o", out)
    return {method["key"]: method["psnr"] for method in json.loads((out / "methods.json").read_text())}


def measure(program: Program, data: Path, folder: Path) -> Outcome:
    """All measurements."""
    clips = with_masks(data)
    masks = all_masks(program, clips, folder)
    timed = clips[1]
    runs = [separate(program, timed, folder) for _ in range(RUNS)]
    return Outcome(
        masks=masks,
        background=separate(program, hall(data), folder),
        demo=demo(program, folder),
        faces=faces.measure(program, data, folder),
        frames_per_second=max(value(run, "frames") / value(run, "apply_seconds") for run in runs),
        mog2_frames_per_second=mog2.frame_rate(timed.clip),
        fit_ms=1000 * min(value(run, "fit_seconds") / value(run, "frames") for run in runs),
        memory_mb=memory_mb(program, folder),
        long_frames=LONG[0],
    )


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    data = asked.data or data_folder()
    if data is None or not (data / "cdnet2014").is_dir():
        parser.error("no clips; set STERADIAN_DATA or --data to the folder with cdnet2014, i2r, sbi and yaleB")
    load = load_average()
    with tempfile.TemporaryDirectory(prefix="steradian-measure-") as folder:
        outcome = measure(Program(asked.program), data, Path(folder))
    publish(markdown(outcome, load), asked.output)
    return 0
