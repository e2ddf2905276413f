"""The tree under a flame graph: sums, order, callers, differences, and what is left out."""

from __future__ import annotations

from incidents.drawing import flame_graph as drawing
from incidents.drawing.flame_graph import Node, Stack, around, forms, functions, graph, tree


def stack(path: str, weight: float = 1.0, line: int = 1) -> Stack:
    return Stack(tuple(path.split(";")), weight, line, line)


def written(node: Node, level: int = 0) -> list[str]:
    lines = [f"{'.' * level}{node.name} {node.weight:g} {node.own:g} @{node.begins:g}"]
    return lines + [line for child in node.children for line in written(child, level + 1)]


def test_equal_callers_are_added_up_and_the_largest_stands_first() -> None:
    made = tree([stack("main;read", 2), stack("main;write;flush", 5), stack("main", 1), stack("idle", 1)], "all")
    assert written(made) == [
        "all 9 0 @0",
        ".main 8 1 @0",
        "..write 5 0 @0",
        "...flush 5 5 @0",
        "..read 2 2 @5",
        ".idle 1 1 @8",
    ]


def test_in_order_only_neighbours_are_one_block_and_gaps_stay() -> None:
    made = tree([stack("m;a"), stack("m;a"), stack("m"), stack("m;a"), stack("x"), stack("m;a")], "all", in_order=True)
    assert written(made) == [
        "all 6 0 @0",
        ".m 4 1 @0",
        "..a 2 2 @0",
        "..a 1 1 @3",
        ".x 1 1 @4",
        ".m 1 0 @5",
        "..a 1 1 @5",
    ]


def test_a_function_that_calls_itself_counts_once() -> None:
    found = [stack("main;walk;walk;walk;read", 3), stack("other;walk", 1), stack("main", 6)]
    assert {one.name: (one.own, one.total) for one in functions(found)} == {
        "main": (6, 9),
        "read": (3, 3),
        "walk": (1, 4),
        "other": (0, 1),
    }
    callers, callees = around(found, "walk")
    assert written(callers) == ["walk 4 0 @0", ".main 3 3 @0", ".other 1 1 @3"]
    assert written(callees) == ["walk 4 1 @0", ".walk 3 0 @0", "..walk 3 0 @0", "...read 3 3 @0"]


def test_blocks_lie_under_their_callers_and_a_place_zooms() -> None:
    root = tree([stack("main;read", 1), stack("main;write", 3)], "all")
    made = graph(root, 4)
    assert [(b.node.name, b.at, b.level, b.x, b.width, b.share) for b in made.blocks] == [
        ("main", "0", 1, 0, 100, 1),
        ("write", "0.0", 2, 0, 75, 0.75),
        ("read", "0.1", 2, 75, 25, 0.25),
    ]
    below = graph(root, 4, "0.1")
    assert (below.focus.node.name, below.focus.width, below.focus.share, below.blocks) == ("read", 100, 0.25, ())
    assert below.path == (("all", ""), ("main", "0"))
    for wrong in ("7", "0.0.0", "x", "-1", "0..1", "²", "9" * 50):
        assert graph(root, 4, wrong).focus.node is root


def test_a_difference_compares_shares_not_weights() -> None:
    root = tree([stack("main;read", 5), stack("main;new", 5)], "all")
    before = tree([stack("main;read", 900), stack("main;old", 100)], "all")
    made = graph(root, 10, "", (before, 1000))
    assert {b.node.name: b.change for b in made.blocks} == {"main": 0.0, "read": -0.4, "new": 0.5}
    zoomed = graph(root, 10, made.blocks[1].at, (before, 1000))
    assert zoomed.focus.change == made.blocks[1].change


def test_narrow_and_deep_blocks_are_counted_not_drawn() -> None:
    deep = ";".join(f"f{n}" for n in range(drawing.MOST_LEVELS + 5))
    made = graph(tree([stack(deep, 10_000), stack("tiny", 1)], "all"), 10_001)
    assert (made.levels, made.left_out) == (drawing.MOST_LEVELS, 2)
    place = made.blocks[-1].at
    below = graph(tree([stack(deep, 10_000), stack("tiny", 1)], "all"), 10_001, place)
    assert [b.node.name for b in below.blocks] == [f"f{drawing.MOST_LEVELS + n}" for n in range(5)]


def test_names_become_shorter_by_whole_words() -> None:
    assert forms("libjvm.so`os::PlatformEvent::park(long)+0x15")[1:] == ("os::PlatformEvent::park", "park")
    assert forms("com.example.Pool.take(Pool.java:12)")[1:] == ("com.example.Pool.take", "take")
    assert forms("read") == ("read",)
    assert forms("[unknown]")
