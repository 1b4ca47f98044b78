"""The folder of all releases of a name: find the releases, and verify that it has nothing else."""

from collections.abc import Collection
from pathlib import Path

from setanon_dagster.verifier.release_folder import LATEST, THREADS


def published_releases(out: Path, name: str) -> list[Path]:
    """Folders of all published versions of the release `name` below the output folder `out`.

    They are in `releases/NAME`; those of earlier versions of setanon in `releases`.
    """
    releases = out / "releases"
    folders = [*releases.glob(f"{name}/{name}-*"), *releases.glob(f"{name}-*")]
    return sorted(folder for folder in folders if (folder / THREADS).is_file())


def series_releases(folder: Path) -> list[Path]:
    """Folders of the releases of a series, such as `releases/NAME`."""
    return sorted(
        path for path in folder.iterdir() if not path.is_symlink() and (path / THREADS).is_file()
    )


def series_failures(folder: Path, releases: Collection[Path]) -> list[str]:
    """Messages about what a series must not have: it has its releases and the link `latest`."""
    link = folder / LATEST
    foreign = {*folder.iterdir()} - {link, *releases}
    messages = []
    if foreign:
        messages.append(
            f"the folder must have releases, {LATEST} and nothing else; {len(foreign)} are foreign "
            "files, folders or links"
        )
    if not link.is_symlink() or link.readlink() not in {Path(each.name) for each in releases}:
        messages.append(f"{LATEST} must be a link to a release of the folder; it is none")
    return messages
