"""The nodes of a cluster on the Runs page: what they offer, and which parts of which run they compute."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import streamlit as st

from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from engine.basics.sizes import spell_bytes
from engine.desk.shelves import Node, Running


def show() -> None:
    """The table; nothing where no cluster computes."""
    nodes = desk().jobs.nodes()
    if not nodes:
        return
    busy = sum(bool(node.running) for node in nodes)
    glossary.caption(f"Cluster: {len(nodes)} node{'s' if len(nodes) > 1 else ''}, {busy} busy.")
    st.dataframe(table(nodes), hide_index=True, width="stretch", key="cluster-nodes",
                 alt=f"Resources and work of the cluster's {len(nodes)} nodes")


def table(nodes: list[Node]) -> pd.DataFrame:
    """One row a node."""
    return pd.DataFrame([{"node": node.name, "cores": node.cores, "GPUs": node.gpus,
                          "memory": spell_bytes(node.memory), "computes": _computes(node.running)} for node in nodes])


def _computes(running: tuple[Running, ...]) -> str:
    """`Title: 2 parts, 40% done on average`; another user's run is counted and not named."""
    said = []
    for digest, count in Counter(one.job for one in running).items():
        job = desk().jobs.queue.get(digest)
        fraction = sum(one.share for one in running if one.job == digest) / count
        said.append(f"{job.title if job else 'another user’s run'}: {count} part{'s' if count > 1 else ''}, "
                    f"{fraction:.0%} done")
    return "; ".join(said) or "nothing"
