"""What a worker writes of its cluster's nodes, and what the pages read of it."""

import json

from engine.basics.folders import USERS
from engine.jobs.cluster import FOLDER, Node, Running, Sighting, nodes_seen
from engine.jobs.ray_cluster import LEAST_SHARE, share_of_gpu

NODES = [Node("b", 4.0, 1.0, 1 << 33, (Running("job", "0/1", 0.25),)), Node("a", 2.0, 0.0, 1 << 32)]


def test_nodes_are_read_as_they_were_written_by_name_until_the_worker_leaves(tmp_path):
    home = tmp_path / USERS / "0a"
    sighting = Sighting(home)
    sighting.write(NODES)
    assert nodes_seen(home) == nodes_seen(tmp_path) == NODES[::-1]
    sighting.remove()
    assert nodes_seen(home) == []


def test_a_node_that_two_workers_see_is_one(tmp_path):
    Sighting(tmp_path).write(NODES[:1])
    (path,) = (tmp_path / FOLDER).iterdir()
    other = json.loads(path.read_text())
    other["nodes"][0]["running"] = [{"job": "another", "chunk": "1", "share": 0.0}]
    path.with_name("other.json").write_text(json.dumps(other))
    (node,) = nodes_seen(tmp_path)
    assert {one.job for one in node.running} == {"job", "another"}


def test_what_is_old_or_cannot_be_read_does_not_count(tmp_path):
    Sighting(tmp_path).write(NODES)
    assert nodes_seen(tmp_path, within=-1.0) == []
    (path,) = (tmp_path / FOLDER).iterdir()
    for text in ("{", "[]", '{"seen": 1e300, "nodes": [{"name": "a"}]}', "\xff"):
        path.write_text(text)
        assert nodes_seen(tmp_path) == []


def test_the_share_of_a_gpu_has_room_to_spare_and_a_least():
    gigabyte = 1 << 30
    assert share_of_gpu(8 * gigabyte, 80 * gigabyte) == 0.13
    assert share_of_gpu(1, 80 * gigabyte) == LEAST_SHARE
    assert share_of_gpu(60 * gigabyte, 80 * gigabyte) == share_of_gpu(0, 80 * gigabyte) == share_of_gpu(9, 0) == 1.0
