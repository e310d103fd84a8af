"""`rlm completion`: a script that makes a shell complete commands, options and names.

click writes the script and answers it: at every press of the tab key the script runs `rlm` with a
variable set and the line so far, and `main` hands that to `complete`.
"""

from __future__ import annotations

import click

from rlm.cli.session import Session
from rlm.config import COMPLETE_VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.argument("shell", type=click.Choice(SHELLS))
def completion(session: Session, shell: str) -> None:
    """Print a script for tab completion in SHELL: bash (4.4 or newer), zsh or fish.

    To have it in every new shell, add the line for yours to its start file:

    \b
    bash  eval "$(rlm completion bash)"     in ~/.bashrc
    zsh   eval "$(rlm completion zsh)"      in ~/.zshrc, below compinit
    fish  rlm completion fish | source      in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    writer = get_completion_class(shell)
    assert writer is not None, shell  # click.Choice let no other name pass
    script = writer(root.command, {}, root.info_name or "rlm", COMPLETE_VARIABLE).source()
    session.show({"shell": shell, "script": script}, script.rstrip())


def complete(request: str) -> int:
    """Answer one request of such a script; the exit code."""
    from click.shell_completion import shell_complete

    from rlm.cli.app import app

    return shell_complete(app, {}, "rlm", COMPLETE_VARIABLE, request)
