"""The report of a run as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from measure.clips import faces
from measure.machine import load_text, stamp, versions
from measure.markdown import page, table, targets_section
from measure.program import Report, value
from measure.rows import Row
from measure.targets import target

Summaries = dict[str, Report]
"""Summaries of the program by the name of the clip."""
DEFAULT, SWITCHED, PCP, TAE = "`scene` (default)", "`scene`, illumination switched", "`pcp`", "`tae`, signed, d = 5"
MOG2 = "OpenCV MOG2"


@dataclass(frozen=True)
class Outcome:
    """The measurements of a run."""

    masks: dict[str, Summaries]
    """Summaries of clips with masks by setting, then by clip."""
    background: Report
    """The summary of the clip with a background image."""
    demo: dict[str, float]
    """PSNR of the background of the built-in clip by method, in dB."""
    faces: dict[str, dict[str, faces.Relit]]
    frames_per_second: float
    mog2_frames_per_second: float
    fit_ms: float
    """Training time per frame."""
    memory_mb: float
    long_frames: int

    def f1(self, setting: str) -> float:
        """The mean F1 over clips."""
        return mean(float(scores(summary)["f1"]) for summary in self.masks[setting].values())


def scores(summary: Report) -> Report:
    """The comparison with ground truth in a summary."""
    found: Report = value(summary, "ground_truth")
    return found


def summary_text(outcome: Outcome) -> str:
    """Mean F1 of each setting and the figures of speed and memory."""
    clips = list(outcome.masks[DEFAULT])
    body = [
        [setting, *(f"{scores(summaries[clip])['f1']:.3f}" for clip in clips), f"**{outcome.f1(setting):.3f}**"]
        for setting, summaries in outcome.masks.items()
    ]
    error = scores(outcome.background)
    figures = [
        ["separation at 320 x 240, frames per second", f"{outcome.frames_per_second:.0f}"],
        ["OpenCV MOG2 on the same clip, frames per second", f"{outcome.mog2_frames_per_second:.0f}"],
        ["training at 320 x 240, ms per frame", f"{outcome.fit_ms:.2f}"],
        [f"peak anonymous memory, training on {outcome.long_frames} frames, MB", f"{outcome.memory_mb:.0f}"],
        ["background of HallAndMonitor, mean absolute error in gray levels", f"{error['mean_gray_error']:.2f}"],
        ["background of HallAndMonitor, PSNR in dB", f"{error['psnr']:.1f}"],
    ]
    return (
        "F1 of foreground masks by method and clip. All methods are trained on the whole clip. MOG2 has its default "
        "settings, and its masks are not post-processed:\n\n"
        + table(["method", *clips, "mean"], body)
        + "\nSpeed, memory and background of the default:\n\n"
        + table(["", "measured"], figures)
    )


def masks_text(outcome: Outcome) -> str:
    """Precision, recall and F1 of each clip under each setting."""
    body = [
        [setting, clip, *(f"{scores(summary)[key]:.3f}" for key in ("precision", "recall", "f1"))]
        for setting, summaries in outcome.masks.items()
        for clip, summary in summaries.items()
    ]
    return table(["method", "clip", "precision", "recall", "F1"], body, words=2)


def face_rows(outcome: Outcome) -> list[Row]:
    """Whether the default fills more of the shadows than PCA and PCP, by face."""
    rows = []
    for subject, methods in outcome.faces.items():
        ours, others = methods[faces.DEFAULT], [methods[rival] for rival in faces.RIVALS]
        shown = ", ".join(f"{100 * other.filled:.1f} %" for other in others)
        more = all(ours.filled > other.filled for other in others)
        rows.append(target("clips.shadows").named(subject=subject).row(more, f"{100 * ours.filled:.1f} % ({shown})"))
    return rows


def rows(outcome: Outcome) -> list[Row]:
    """The rows of the table of targets."""
    error = scores(outcome.background)
    gain = outcome.demo["scene"] - outcome.demo["pca"]
    rate, other_rate = outcome.frames_per_second, outcome.mog2_frames_per_second
    return [
        *(
            target(f"clips.{name}").row(outcome.f1(setting), f"{outcome.f1(setting):.3f}")
            for name, setting in (("f1", DEFAULT), ("f1_switched", SWITCHED), ("f1_tae", TAE))
        ),
        target("clips.background_error").row(error["mean_gray_error"]),
        target("clips.background_psnr").row(error["psnr"], f"{error['psnr']:.1f} dB"),
        target("clips.demo_gain").row(
            gain, f"{gain:.1f} dB ({outcome.demo['scene']:.1f} and {outcome.demo['pca']:.1f} dB)"
        ),
        *face_rows(outcome),
        target("clips.rate").row(rate / other_rate, f"{rate / other_rate:.2f}x ({rate:.0f} and {other_rate:.0f})"),
        target("clips.fit").row(outcome.fit_ms),
        target("clips.memory").named(frames=outcome.long_frames).row(outcome.memory_mb, f"{outcome.memory_mb:.0f} MB"),
    ]


def markdown(outcome: Outcome, load: float) -> str:
    """The whole page."""
    introduction = (
        f"{stamp('make clips', versions('opencv-python-headless'), load_text(load))}\n\n"
        "Background subtraction on public clips with foreground masks (CDnet 2014: pedestrians, highway; I2R: curtain, "
        "water) or a background image (SBI: HallAndMonitor), and shadow removal on faces. One setting for all clips, "
        "threshold included. The constants of the default were chosen with these clips, so expect somewhat lower "
        "scores on others. Masks are scored by the conventions of CDnet, pooled over all scored pixels of a clip.\n"
    )
    return page(
        "Video clips and faces",
        introduction,
        [
            ("Summary", summary_text(outcome)),
            ("Foreground masks", masks_text(outcome)),
            ("Faces", faces.text(outcome.faces)),
            targets_section(rows(outcome)),
        ],
    )
