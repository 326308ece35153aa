"""`seen_through`: a source or release as an adversary sees it, through her view and with the channels that she knows.

Called wherever knowledge is drawn, records are attacked or an audit describes what was known.
"""

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

    What is seen through a view is a `Dataset`. Records keep their indices. Work on what is returned
    with `who.without_view`, so that the view is not applied a second time. A ranked choice adds its
    ranks behind the view, unless the dataset has them already.
    """
    if who is None:
        return dataset
    view, ranking = view_of(who.view), who.ranking
    if ranking is not None and not is_ranked(dataset):
        view = ranking if view is None else view | ranking
    return who.read_by(dataset if view is None else see(dataset, view))
