"""What an adversary sees of a dataset: the dataset itself, her view of it, and the channels that she knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standout.data.catalog import Catalog
from standout.views.ranks import is_ranked
from standout.views.view import see, view_of

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary


def channels_shown(who: Adversary) -> list[str]:
    """Names of the further channels whose content can be known from the items of the adversary's view."""
    view = view_of(who.view)
    return [name for stage in view.stages for name in stage.shows] if view else []


def seen_through(dataset: Catalog, who: Adversary | None) -> Any:
    """The dataset as the adversary sees it: her view of it, with joint codes of the channels that she knows.

    What is seen through a view is a `Dataset`. Records keep their indices. In what is seen, the
    adversary is `who.without_view`: a view is applied once. A ranked choice adds its ranks behind the
    view, also once.
    """
    if who is None:
        return dataset
    view, ranking = view_of(who.view), who.ranking
    if ranking is not None and not is_ranked(dataset):
        view = ranking if view is None else view | ranking
    return who.read_by(dataset if view is None else see(dataset, view))
