"""What an adversary sees of a dataset: the dataset itself, or her view of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standout.data.catalog import Catalog
from standout.views.view import see, view_of

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary


def seen_through(dataset: Catalog, who: Adversary | None) -> Any:
    """The dataset as the adversary sees it: her view of it, or the dataset itself if she has none.

    What is seen through a view is a `Dataset`. Records keep their indices. In what is seen, the
    adversary is `who.without_view`: a view is applied once.
    """
    view = None if who is None else view_of(who.view)
    return dataset if view is None else see(dataset, view)
